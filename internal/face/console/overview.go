package console

import (
	"slices"
	"strconv"

	"foyer/client"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
)

// Overview is the first page of an organization: what needs attention, its numbers, and what was done last.
type Overview struct {
	Frame
	Needs   []Need
	Steps   []Step
	Numbers []Number
	Last    []client.AuditEntry // of what they may see
	All     string              // the path of their list
}

// Need is something that needs attention.
type Need struct {
	What, Path string
	Bad        bool // something is wrong
}

// Number is a count of things, with a link to them.
type Number struct {
	Count int
	What  string
	Path  string
}

// Step is one of the first things to do in a new organization.
type Step struct {
	What, Path string
	Done       bool
}

const (
	lately  = 10  // how many of the latest entries are shown
	fewDone = 200 // an organization with no more entries is new
)

func showOverview(v *visit) (markup.Page, error) {
	p := Overview{Frame: v.frame("overview")}
	there, err := v.organization.Overview(v.ctx())
	if err != nil {
		return markup.Page{}, err
	}
	p.Needs, p.Numbers = p.needs(there), numbers(p.Home, there)
	var done client.Page[client.AuditEntry]
	switch {
	case p.Offer.SeeAudit:
		p.All = p.Home + "/audit"
		done, err = v.organization.ListAudit(v.ctx(), client.AuditFilter{}, client.Range{Limit: lately})
		if err == nil && p.Offer.ChangeSettings && there.Apps != nil && there.Invites != nil && done.Count <= fewDone {
			var all client.Page[client.AuditEntry]
			all, err = v.organization.ListAudit(v.ctx(), client.AuditFilter{}, client.Range{Limit: fewDone})
			p.Steps = p.steps(all.Results, *there.Members+there.Invites.Count)
		}
	case p.Offer.SeeApps:
		p.All = p.Home + "/activity"
		done, err = v.doneToApps(v.ctx(), client.ActivityFilter{}, client.Range{Limit: lately})
	}
	p.Last = done.Results
	return markup.Fill("overview.html", p), err
}

// numbers returns the counts of what the viewer may see.
func numbers(home string, there client.Overview) (all []Number) {
	add := func(n int, one, path string) {
		if n != 1 {
			one += "s"
		}
		all = append(all, Number{n, one, home + path})
	}
	if there.Apps != nil {
		add(there.Apps.Count, "App", "/apps")
		add(*there.Sites, "Site", "/sites")
	}
	if there.Invites != nil {
		add(*there.Members, "Member", "/members")
		add(there.Invites.Count, "Invite", "/invites")
	}
	return all
}

// needs returns what needs attention, the most urgent first.
func (f Frame) needs(there client.Overview) (all []Need) {
	add := func(n int, one, many, path string, bad bool) {
		switch {
		case n == 1:
			all = append(all, Need{"1 " + one, f.Home + path, bad})
		case n > 1:
			all = append(all, Need{strconv.Itoa(n) + " " + many, f.Home + path, bad})
		}
	}
	if a := there.Apps; a != nil {
		add(a.Failing, "app has errors on pages", "apps have errors on pages", "/apps?state=failing", true)
		add(a.Broken, "app does not compile", "apps do not compile", "/apps?state=broken", true)
	}
	if i := there.Invites; i != nil {
		add(i.Failed, "invite could not be mailed", "invites could not be mailed", "/invites?status=pending&delivery=failed", true)
	}
	if a := there.Apps; a != nil && f.Offer.ChangeApps {
		add(a.Updates, "app can be upgraded", "apps can be upgraded", "/apps?state=update", false)
	}
	if i := there.Invites; i != nil {
		add(i.Expired, "invite has expired", "invites have expired", "/invites?status=expired", false)
	}
	if a := there.Apps; a != nil {
		add(a.Disabled, "app is disabled", "apps are disabled", "/apps?state=disabled", false)
	}
	return all
}

// steps returns the first things that a user may do, until all are done.
func (f Frame) steps(done []client.AuditEntry, people int) []Step {
	all := []Step{
		{"Say who you are, since invites name you", f.Home + "/invites/new", f.Person.Email != org.NobodysEmail},
		{"Add an app of your own", f.Home + "/apps/new?way=own", wasMade(done, activity.Plugin, activity.Installed)},
		{"Add a site of your own, whose pages run apps", f.Home + "/sites", wasMade(done, activity.Site, activity.Created)},
		{"Invite somebody", f.Home + "/invites/new", people > 1},
		{"Create a key for a program", f.Root + "/keys" + f.Around.In, wasMade(done, activity.Key, activity.Created)},
	}
	if !f.Offer.ChangeApps {
		all = slices.Delete(all, 1, 3)
	}
	for _, s := range all {
		if !s.Done {
			return all
		}
	}
	return nil
}

// wasMade reports whether somebody has made something of a kind. The first start made its app, site and key without a key
// or a session.
func wasMade(done []client.AuditEntry, scope activity.Scope, verb activity.Verb) bool {
	return slices.ContainsFunc(done, func(e client.AuditEntry) bool {
		return e.Scope == string(scope) && e.Activity == string(verb) && (e.KeyID != nil || e.SessionID != nil)
	})
}
