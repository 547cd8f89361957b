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

const (
	// lately is how many of the last things done are shown.
	lately = 10
	// looked is how many apps are looked through for what needs somebody.
	looked = 100
)

func showOverview(v *visit) (markup.Page, error) {
	p := Overview{Frame: v.frame("overview")}
	apps, sites, err := p.apps(v)
	if err != nil {
		return markup.Page{}, err
	}
	members, err := p.people(v)
	if err != nil {
		return markup.Page{}, err
	}
	if p.Offer.SeeAudit {
		last, err := v.organization.ListAudit(v.ctx(), client.AuditFilter{}, client.Range{Limit: lately})
		if err != nil {
			return markup.Page{}, err
		}
		p.Last = last.Results
	}
	if p.Offer.ChangeSettings {
		p.Steps = v.steps(apps, sites, members)
	}
	return markup.Fill("overview.html", p), nil
}

// apps adds the numbers of apps and sites, and returns them.
func (p *Overview) apps(v *visit) (apps, sites int, err error) {
	if !p.Offer.SeeApps {
		return 0, 0, nil
	}
	found, err := v.organization.ListApps(v.ctx(), client.Range{Limit: looked})
	if err != nil {
		return 0, 0, err
	}
	updates := 0
	for _, app := range found.Results {
		if app.LatestTag != "" && app.LatestTag != app.Tag && app.URL != "" {
			updates++
		}
	}
	list := p.Home + "/apps"
	p.Numbers = append(p.Numbers, Number{found.Count, "Apps", list, parts(Part{updates, "to upgrade", list, false})})
	placed, err := v.organization.ListSites(v.ctx(), client.Range{Limit: 1})
	if err != nil {
		return 0, 0, err
	}
	p.Numbers = append(p.Numbers, Number{Count: placed.Count, What: "Sites", Path: p.Home + "/sites"})
	return found.Count, placed.Count, nil
}

// people adds the numbers of members and invites, and returns how many of both there are.
func (p *Overview) people(v *visit) (int, error) {
	if !p.Offer.SeePeople {
		return 0, nil
	}
	members, err := v.organization.ListMembers(v.ctx(), client.Range{Limit: 1})
	if err != nil {
		return 0, err
	}
	list := p.Home + "/invites"
	invites, err := v.organization.FindInvites(v.ctx(), client.InviteFilter{}, client.Range{Limit: looked})
	if err != nil {
		return 0, err
	}
	failed, expired := 0, 0
	for _, i := range invites.Results {
		switch {
		case i.Status == "expired":
			expired++
		case i.Delivery.State == "failed":
			failed++
		}
	}
	p.Numbers = append(p.Numbers, Number{Count: members.Count, What: "Members", Path: p.Home + "/members"}, Number{
		invites.Count, "Invites", list, parts(Part{failed, "refused", list + "?delivery=failed", true}, Part{expired, "expired", list + "?status=expired", false}),
	})
	return members.Count + invites.Count, nil
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
		{"Say who you are, and what your organization is called", v.console.root() + "/profile", v.identity.Person.Email != org.NobodysEmail},
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
