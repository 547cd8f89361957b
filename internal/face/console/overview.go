package console

import (
	"foyer/client"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
)

// Overview is the first page of an organization: how it stands, and what was done last.
type Overview struct {
	Frame
	Numbers []Number
	Steps   []Step
	Last    []client.AuditEntry
}

// Number says how many of something there are, and leads there.
type Number struct {
	Count int
	What  string
	Path  string
	Parts []Part // of them that need somebody
}

// Part is how many of something are in a state.
type Part struct {
	Count int
	What  string
	Path  string
	Bad   bool
}

// Step is one of the first things to do in a new organization.
type Step struct {
	What, Path string
	Done       bool
}

// lately is how many of the last things done are shown.
const lately = 10

func showOverview(v *visit) (markup.Page, error) {
	p := Overview{Frame: v.frame("overview")}
	there, err := v.organization.Overview(v.ctx())
	if err != nil {
		return markup.Page{}, err
	}
	p.Numbers = numbers(p.Home, there)
	if p.Offer.SeeAudit {
		last, err := v.organization.ListAudit(v.ctx(), client.AuditFilter{}, client.Range{Limit: lately})
		if err != nil {
			return markup.Page{}, err
		}
		p.Last = last.Results
	}
	if p.Offer.ChangeSettings && there.Apps != nil && there.Invites != nil {
		p.Steps = v.steps(there.Apps.Count, *there.Sites, *there.Members+there.Invites.Count)
	}
	return markup.Fill("overview.html", p), nil
}

// numbers are those of what somebody may see.
func numbers(home string, there client.Overview) []Number {
	var all []Number
	if a := there.Apps; a != nil {
		list := home + "/apps"
		all = append(all,
			Number{a.Count, "Apps", list, parts(
				Part{a.Updates, "to upgrade", list + "?state=update", false}, Part{a.Broken, "broken", list + "?state=broken", true},
				Part{a.Disabled, "disabled", list + "?state=disabled", true}, Part{a.Failing, "with errors on pages", list + "?state=failing", true},
			)},
			Number{Count: *there.Sites, What: "Sites", Path: home + "/sites"})
	}
	if i := there.Invites; i != nil {
		list := home + "/invites"
		all = append(all,
			Number{Count: *there.Members, What: "Members", Path: home + "/members"},
			Number{i.Count, "Invites", list, parts(
				Part{i.Failed, "refused", list + "?status=pending&delivery=failed", true}, Part{i.Expired, "expired", list + "?status=expired", false},
			)})
	}
	return all
}

// parts are those that there are any of.
func parts(all ...Part) (some []Part) {
	for _, p := range all {
		if p.Count > 0 {
			some = append(some, p)
		}
	}
	return some
}

// steps are the first things to do, until all are done.
func (v *visit) steps(apps, sites, people int) []Step {
	home := v.home
	all := []Step{
		{"Say who you are, and what your organization is called", home + "/invites/new", v.identity.Person.Email != org.NobodysEmail},
		{"Add an app", home + "/apps/new", apps > 0},
		{"Add a site, whose pages run apps", home + "/sites", sites > 0},
		{"Invite somebody", home + "/invites/new", people > 1},
		{"Make a key for a program", v.console.root() + "/keys", v.caller.KeyID == 0},
	}
	for _, s := range all {
		if !s.Done {
			return all
		}
	}
	return nil
}
