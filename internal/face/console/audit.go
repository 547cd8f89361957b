package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
)

// Audit lists what was done in an organization.
type Audit struct {
	List[client.AuditEntry]
	Filter AuditForm
	Scopes []activity.Scope
	Verbs  []activity.Verb
	Export string // the path of the whole export; "": the list shows only what was done to apps
	All    string // the path of the unfiltered list; "": this list is unfiltered
}

// AuditForm is the page's form, as typed.
type AuditForm struct{ Scope, Activity, User, Item, Since, Until string }

// Any reports whether the list is narrowed down.
func (f AuditForm) Any() bool { return f != AuditForm{} }

func (v *visit) auditFilter() (AuditForm, client.AuditFilter, error) {
	q := v.request.URL.Query()
	form := AuditForm{q.Get("scope"), q.Get("activity"), q.Get("user"), strings.TrimSpace(q.Get("item")), q.Get("since"), q.Get("until")}
	filter := client.AuditFilter{Scope: form.Scope, Activity: form.Activity, User: form.User, ItemID: form.Item}
	var err error
	if filter.Since, err = day("since", form.Since); err != nil {
		return form, filter, err
	}
	if filter.Until, err = day("until", form.Until); err != nil {
		return form, filter, err
	}
	if !filter.Until.IsZero() {
		filter.Until = filter.Until.AddDate(0, 0, 1) // the list includes that day
	}
	return form, filter, nil
}

func showAudit(v *visit) (markup.Page, error) {
	form, filter, refused := v.auditFilter()
	l, err := list(v, "audit", func(ctx context.Context, part client.Range) (client.Page[client.AuditEntry], error) {
		if refused != nil {
			return client.Page[client.AuditEntry]{}, refused
		}
		found, err := v.organization.ListAudit(ctx, filter, part)
		return found, reword(reword(err, "scope", "Choose one of the list."), "activity", "Choose one of the list.")
	})
	export := v.home + "/audit/export"
	if query := v.request.URL.RawQuery; query != "" {
		export += "?" + query
	}
	shown := Audit{List: l, Filter: form, Scopes: org.ScopesSeen(v.caller), Verbs: activity.Verbs(), Export: export}
	if form.Any() {
		shown.All = v.home + "/audit"
	}
	return markup.Fill("audit.html", shown), err
}

// showActivity lists what was done to apps, for members who may see no more.
func showActivity(v *visit) (markup.Page, error) {
	query := v.request.URL.Query()
	filter := client.ActivityFilter{User: query.Get("user")}
	var shown Audit
	if text := query.Get("app"); text != "" {
		var err error
		if filter.AppID, err = number(text); err != nil {
			return markup.Page{}, err
		}
	}
	if filter != (client.ActivityFilter{}) {
		shown.All = v.home + "/activity"
	}
	var err error
	shown.List, err = list(v, "activity", func(ctx context.Context, part client.Range) (client.Page[client.AuditEntry], error) {
		return v.doneToApps(ctx, filter, part)
	})
	return markup.Fill("audit.html", shown), err
}

// doneToApps returns the entries that members may see.
func (v *visit) doneToApps(ctx context.Context, filter client.ActivityFilter, part client.Range) (client.Page[client.AuditEntry], error) {
	found, err := v.organization.ListActivity(ctx, filter, part)
	entries := client.Page[client.AuditEntry]{Count: found.Count, Next: found.Next}
	for _, a := range found.Results {
		entries.Results = append(entries.Results, client.AuditEntry{
			ID: a.ID, Activity: a.Activity, User: &a.User, Scope: a.Scope, ItemID: a.ItemID, Detail: a.Detail, RequestID: a.RequestID, CreatedAt: a.CreatedAt,
		})
	}
	return entries, err
}

// pagesOf maps a scope to the list of its things; "": there is none.
var pagesOf = map[activity.Scope]string{
	activity.Plugin: "/apps", activity.Site: "/sites", activity.Invite: "/invites", activity.Membership: "/members", activity.Key: "/keys",
	activity.Organization: "/settings", activity.Webhook: "/webhooks", activity.Session: "",
}

// leads returns the path of the page of an entry's thing; "": it has none, or the viewer may not see it.
func (f Frame) leads(e client.AuditEntry) string {
	scope := activity.Scope(e.Scope)
	list := pagesOf[scope]
	if list == "" || !f.Offer.sees(list) {
		return ""
	}
	switch scope {
	case activity.Plugin, activity.Site, activity.Webhook:
		if verb := activity.Verb(e.Activity); verb == activity.Uninstalled || verb == activity.Deleted {
			return "" // the thing has no page any more
		}
		list += "/" + url.PathEscape(e.ItemID)
	case activity.Invite:
		list += "?status=any&search=" + url.QueryEscape(e.Detail.Name)
	case activity.Membership:
		list += "?id=" + url.QueryEscape(e.ItemID) // their address may have changed since
	case activity.Key, activity.Organization, activity.Session:
	}
	return f.Home + list
}

// exportAudit answers with all entries that match the filter, one line of JSON each. The API writes them as it reads
// them.
func (c *Console) exportAudit(w http.ResponseWriter, r *http.Request) {
	v, err := c.visit(w, r)
	var filter client.AuditFilter
	if err == nil {
		_, filter, err = v.auditFilter()
	}
	if err == nil { // else the browser would download why it is refused
		_, err = v.organization.ListAudit(r.Context(), filter, client.Range{Limit: 1})
	}
	if err != nil {
		c.fail(w, r, v, err)
		return
	}
	query := url.Values{}
	for name, text := range map[string]string{
		"scope": filter.Scope, "activity": filter.Activity, "user": filter.User, "item_id": filter.ItemID, "since": instant(filter.Since), "until": instant(filter.Until),
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	session, _ := c.sessionOf(r) // visit has found it
	inner := r.Clone(access.WithSession(r.Context(), session))
	inner.URL = &url.URL{Path: "/api/organizations/" + v.caller.Organization.ID + "/activity", RawQuery: query.Encode()}
	inner.Header = http.Header{"Accept": {"application/x-ndjson"}}
	c.api.ServeHTTP(w, inner)
}

// instant formats a time for the API; "": none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// day parses a date that a browser sends.
func day(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || at.Year() > 9998 { // the next day must have a year of four digits, too
		return time.Time{}, wrong(field, "Must be a date like 2030-01-31, before the year 9999.")
	}
	return at, nil
}
