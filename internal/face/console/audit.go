package console

import (
	"context"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/domain/activity"
	"foyer/internal/face/console/markup"
)

// Audit lists what was done in an organization.
type Audit struct {
	List[client.AuditEntry]
	Filter AuditForm
	Scopes []activity.Scope
	Verbs  []activity.Verb
}

// AuditForm is what the page's form has: as typed.
type AuditForm struct{ Scope, Activity, User, Item, Since, Until string }

// Any reports whether the list is narrowed down.
func (f AuditForm) Any() bool { return f != AuditForm{} }

func showAudit(v *visit) (markup.Page, error) {
	q := v.request.URL.Query()
	form := AuditForm{q.Get("scope"), q.Get("activity"), q.Get("user"), q.Get("item"), q.Get("since"), q.Get("until")}
	filter := client.AuditFilter{Scope: form.Scope, Activity: form.Activity, User: form.User, ItemID: form.Item}
	var err error
	if filter.Since, err = day("since", form.Since); err != nil {
		return markup.Page{}, err
	}
	if filter.Until, err = day("until", form.Until); err != nil {
		return markup.Page{}, err
	}
	if !filter.Until.IsZero() {
		filter.Until = filter.Until.AddDate(0, 0, 1) // the day is shown too
	}
	l, err := list(v, "audit", func(ctx context.Context, part client.Range) (client.Page[client.AuditEntry], error) {
		return v.organization.ListAudit(ctx, filter, part)
	})
	return markup.Fill("audit.html", Audit{l, form, activity.Scopes(), activity.Verbs()}), err
}

// day reads what a browser sends of a date.
func day(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fault.Field(fault.Invalid, field, "Must be a date like 2030-01-31.")
	}
	return at, nil
}
