package console

import (
	"errors"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/face/console/markup"
)

// Place lets somebody choose a site for an app.
type Place struct {
	Frame
	App    client.App
	Sites  []client.Site // that it is not on
	Placed int           // how many it is on
	Find   string        // a part of their names
	More   bool          // there are others
}

func showPlace(v *visit) (markup.Page, error) {
	app, err := v.app()
	if err != nil {
		return markup.Page{}, err
	}
	shown := Place{Frame: v.frame("apps"), App: app, Find: strings.TrimSpace(v.request.URL.Query().Get("find"))}
	placed, err := v.organization.ListSitesOfApp(v.ctx(), app.ID, client.Range{Limit: page.MaxLimit})
	if err != nil {
		return markup.Page{}, err
	}
	shown.Placed = placed.Count
	found, err := v.organization.ListSites(v.ctx(), client.SiteFilter{Search: shown.Find}, beside(len(placed.Results)))
	shown.Sites, shown.More = others(found, func(s client.Site) bool {
		return slices.ContainsFunc(placed.Results, func(p client.SitePlacement) bool { return p.Site.ID == s.ID })
	})
	return markup.Fill("place.html", shown), err
}

// Unplaced is an app that could run and is on no site, with what to do about it.
type Unplaced struct {
	Page string      // the path of the app's page
	Site client.Site // the only one there is
	Any  bool        // there are some
}

// unplaced finds out what to do about an app that is on no site. It returns nil if the app cannot run, or may not be
// placed.
func (v *visit) unplaced(app client.AppSource) (*Unplaced, error) {
	if app.Bundle == nil || app.Disabled != nil || !offer(v.caller).PlaceApps {
		return nil, nil
	}
	sites, err := v.organization.ListSites(v.ctx(), client.SiteFilter{}, client.Range{Limit: 2})
	if err != nil {
		return nil, err
	}
	n := &Unplaced{Page: appPage(v.home, app.ID), Any: sites.Count > 0}
	if sites.Count == 1 {
		n.Site = sites.Results[0]
	}
	return n, nil
}

func placeHere(v *visit) (next, error) {
	app, err := v.appID()
	if err != nil {
		return next{}, err
	}
	site, err := number(v.line("site"))
	if err != nil {
		return next{}, wrong("site", "Choose a site.")
	}
	then, err := v.place(site, app)
	return then, asField(err, "app_id", "site")
}

// place puts an app on a site. The app is off if it needs values that have no default.
func (v *visit) place(site, app int64) (next, error) {
	draft := client.PlacementDraft{AppID: app}
	placed, err := v.organization.PlaceApp(v.ctx(), site, draft)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "required" {
		draft.Enabled = new(false)
		placed, err = v.organization.PlaceApp(v.ctx(), site, draft)
	}
	how := "and runs."
	switch {
	case !placed.Enabled:
		how = "but off: give it the values that it needs, and tick “Runs on this site”."
	case placed.Running == nil:
		how = "but does not run."
	}
	return next{
		path:  appPage(sitePage(v.home, site), app),
		flash: sentence("%s is on the site, "+how, placed.Name),
	}, err
}
