package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/face/console/markup"
)

// Sites lists the sites of an organization.
type Sites struct {
	List[client.Site]
	Search string // as typed
}

func showSites(v *visit) (markup.Page, error) {
	search := strings.TrimSpace(v.request.URL.Query().Get("search"))
	l, err := list(v, "sites", func(ctx context.Context, part client.Range) (client.Page[client.Site], error) {
		return v.organization.ListSites(ctx, client.SiteFilter{Search: search}, part)
	})
	return markup.Fill("sites.html", Sites{l, search}), err
}

// sitePage is the path of the page of a site, below that of its organization.
func sitePage(home string, id int64) string { return home + "/sites/" + strconv.FormatInt(id, 10) }

func createSite(v *visit) (next, error) {
	name := v.line("name")
	made, err := v.organization.CreateSite(v.ctx(), client.SitePatch{Name: &name, Origins: listed(v.typed("origins"))})
	return next{path: sitePage(v.home, made.ID), flash: sentence("%s is created. Copy its element into your pages, and put an app on it.", made.Name)}, err
}

// Site shows a site and the apps on it.
type Site struct {
	List[client.Placement]
	client.Site
	Failing map[int64]bool // apps for which its pages reported errors within 24 hours, by their ids
	Apps    []client.App   // that may be put on it
	Find    string         // a part of their names
	More    bool           // there are others
	Server  string         // the scheme and host that the page's policy must allow
	Try     string         // the address of its try page
}

// OriginLines is the list of origins as a form has it.
func (p Site) OriginLines() string { return strings.Join(p.Origins, "\n") }

// First reports whether an app of the list is the first on the site.
func (p Site) First(i int) bool { return p.From+i == 1 }

// Last reports whether an app of the list is the last on the site.
func (p Site) Last(i int) bool { return p.From+i == p.Count }

// Alike reports whether another app that is offered has the name of an app.
func (p Site) Alike(app client.App) bool {
	return slices.ContainsFunc(p.Apps, func(other client.App) bool { return other.Name == app.Name && other.ID != app.ID })
}

func (v *visit) siteID() (int64, error) { return number(v.request.PathValue("site")) }

func showSite(v *visit) (markup.Page, error) {
	id, err := v.siteID()
	if err != nil {
		return markup.Page{}, err
	}
	s, err := v.organization.GetSite(v.ctx(), id)
	if err != nil {
		return markup.Page{}, err
	}
	shown := Site{Site: s, Find: strings.TrimSpace(v.request.URL.Query().Get("find")), Try: v.tryPath(s.Token)}
	var placed []client.Placement
	shown.List, err = list(v, "sites", func(ctx context.Context, part client.Range) (client.Page[client.Placement], error) {
		all, err := v.organization.ListPlacements(ctx, id, client.Range{Limit: page.MaxLimit})
		placed = all.Results
		return partOf(placed, part), err
	})
	if err == nil {
		shown.Failing, err = v.failingOn(id)
	}
	if err == nil && shown.Offer.ChangeApps {
		err = shown.findApps(v, placed)
	}
	base := v.console.Base()
	shown.Server = base.Scheme + "://" + base.Host
	return markup.Fill("site.html", shown), err
}

// failingOn returns the apps for which the pages of a site reported errors within 24 hours, by their ids.
func (v *visit) failingOn(site int64) (map[int64]bool, error) {
	found, err := v.organization.ListHealth(v.ctx(), site, time.Time{}, client.Range{Limit: page.MaxLimit})
	are := map[int64]bool{}
	for _, app := range found.Results {
		are[app.AppID] = failing(app.Health)
	}
	return are, err
}

// findApps finds apps that may be put on the site and are not on it yet.
func (p *Site) findApps(v *visit, placed []client.Placement) error {
	found, err := v.organization.ListApps(v.ctx(), client.AppFilter{Search: p.Find}, beside(len(placed)))
	p.Apps, p.More = others(found, func(app client.App) bool {
		return slices.ContainsFunc(placed, func(placed client.Placement) bool { return placed.AppID == app.ID })
	})
	return err
}

// beside returns the range of a list that contains a page of offered items besides n others.
func beside(n int) client.Range { return client.Range{Limit: min(perPage+n, page.MaxLimit)} }

// others returns the items of a list to offer, without some, and whether there are more.
func others[T any](found client.Page[T], without func(T) bool) (all []T, more bool) {
	more = found.Count > len(found.Results)
	all = slices.DeleteFunc(found.Results, without)
	return all[:min(len(all), perPage)], more || len(all) > perPage
}

// tryPath returns the path of the try page of the site with a token, as browsers see it, with its key.
func (v *visit) tryPath(token string) string {
	return v.console.prefix + "/sites/" + token + "/try?t=" + url.QueryEscape(v.console.TryKey(token))
}

// onSite does something to the site that the path names, and reports what.
func (v *visit) onSite(do func(id int64) (flash string, err error)) (next, error) {
	return doOn(v.siteID, do)
}

func describeSite(v *visit) (next, error) {
	return v.onSite(func(id int64) (string, error) {
		patch := client.SitePatch{Name: v.edited("name")}
		if text := v.edited("origins"); text != nil {
			patch.Origins = listed(*text)
		}
		site, err := v.organization.UpdateSite(v.ctx(), id, patch)
		return sentence("%s "+v.changed("name", "origins"), site.Name), err
	})
}

func switchSite(v *visit) (next, error) {
	enabled, flash := v.ticked("on"), "%s is off: its pages run no app."
	if enabled {
		flash = "%s is on: its pages run its apps again."
	}
	return v.onSite(func(id int64) (string, error) {
		site, err := v.organization.UpdateSite(v.ctx(), id, client.SitePatch{Enabled: &enabled, Reason: v.line("reason")})
		return sentence(flash, site.Name), err
	})
}

func deleteSite(v *visit) (next, error) {
	then, err := v.onSite(func(id int64) (string, error) {
		site, err := v.organization.GetSite(v.ctx(), id)
		if err != nil {
			return "", err
		}
		return sentence("%s is deleted.", site.Name), v.organization.DeleteSite(v.ctx(), id)
	})
	then.path = v.home + "/sites"
	return then, err
}

func placeApp(v *visit) (next, error) {
	id, err := v.siteID()
	if err != nil {
		return next{}, err
	}
	app, err := number(v.line("app"))
	if err != nil {
		return next{}, wrong("app", "Choose an app.")
	}
	then, err := v.place(id, app)
	return then, asField(err, "app_id", "app")
}

// moveApp swaps an app with its neighbour.
func moveApp(v *visit) (next, error) {
	by, text := -1, v.line("up")
	if text == "" {
		by, text = +1, v.line("down")
	}
	return v.onSite(func(id int64) (string, error) {
		app, err := number(text)
		if err != nil {
			return "", err
		}
		placed, err := v.organization.ListPlacements(v.ctx(), id, client.Range{Limit: page.MaxLimit})
		if err != nil {
			return "", err
		}
		all := placed.Results
		from := slices.IndexFunc(all, func(p client.Placement) bool { return p.AppID == app })
		if from < 0 {
			return "", refusal(http.StatusNotFound, gone)
		}
		to := min(max(from+by, 0), len(all)-1)
		return sentence("%s is now at position "+strconv.Itoa(to+1)+".", called(all[from].Name, app)), v.swap(id, all, from, to)
	})
}

// swap swaps two neighbours in the list of all apps on a site: each gets the other's position. If positions are equal,
// that is not enough: it also moves apps further back, the last one first. If it is interrupted, pages have either the old
// order or the new one.
func (v *visit) swap(siteID int64, all []client.Placement, from, to int) error {
	positions := make([]int64, len(all))
	for i, p := range all {
		positions[i] = p.Position
	}
	all[from], all[to] = all[to], all[from]
	for i := 1; i < len(all); i++ {
		if cmp.Or(cmp.Compare(positions[i-1], positions[i]), cmp.Compare(all[i-1].AppID, all[i].AppID)) > 0 {
			positions[i] = positions[i-1] + 1
		}
	}
	for i, p := range slices.Backward(all) {
		if p.Position == positions[i] {
			continue
		}
		if _, err := v.organization.UpdatePlacement(v.ctx(), siteID, p.AppID, client.PlacementPatch{Position: &positions[i]}); err != nil {
			return err
		}
	}
	return nil
}
