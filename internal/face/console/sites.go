package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
)

func showSites(v *visit) (markup.Page, error) {
	l, err := list(v, "sites", v.organization.ListSites)
	return markup.Fill("sites.html", l), err
}

func createSite(v *visit) (next, error) {
	name := v.line("name")
	made, err := v.organization.CreateSite(v.ctx(), client.SitePatch{Name: &name, Origins: v.origins()})
	return next{path: v.home + "/sites/" + strconv.FormatInt(made.ID, 10), said: sentence("%s is there. Put its element into your pages, and an app on it.", made.Name)}, err
}

// origins are the lines of a form, one origin each.
func (v *visit) origins() []string { return append([]string{}, strings.Fields(v.typed("origins"))...) }

// Site shows a site and the apps on it.
type Site struct {
	Frame
	client.Site
	Placements []client.Placement
	Apps       []client.App // that may be put on it
	Server     string       // where the page's policy must let it ask: scheme and host
	Try        string       // the address of its try page
}

// OriginLines is the list of origins as a form has it.
func (p Site) OriginLines() string { return strings.Join(p.Origins, "\n") }

// Last reports whether an app is the last on the site.
func (p Site) Last(i int) bool { return i == len(p.Placements)-1 }

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
	shown := Site{Frame: v.frame("sites"), Site: s}
	placed, err := v.organization.ListPlacements(v.ctx(), id, client.Range{Limit: page.MaxLimit})
	if err != nil {
		return markup.Page{}, err
	}
	shown.Placements = placed.Results
	if shown.Offer.ChangeApps {
		if shown.Apps, err = v.placeable(placed.Results); err != nil {
			return markup.Page{}, err
		}
	}
	base := v.console.Base()
	shown.Server = base.Scheme + "://" + base.Host
	shown.Try = v.tryPath(s)
	return markup.Fill("site.html", shown), nil
}

// tryPath is the path of a site's try page, as browsers see it, with its key.
func (v *visit) tryPath(s client.Site) string {
	return v.console.prefix + "/sites/" + s.Token + "/try?t=" + url.QueryEscape(v.console.Tries.Seal(s.Token, v.console.Keys.Now()))
}

// placeable lists the apps that are not on a site yet.
func (v *visit) placeable(placed []client.Placement) ([]client.App, error) {
	there := map[int64]bool{}
	for _, p := range placed {
		there[p.AppID] = true
	}
	found, err := v.organization.ListApps(v.ctx(), client.Range{Limit: page.MaxLimit})
	var left []client.App
	for _, app := range found.Results {
		if !there[app.ID] {
			left = append(left, app)
		}
	}
	return left, err
}

// onSite does something to the site that the path names, and says what.
func (v *visit) onSite(do func(id int64) (said string, err error)) (next, error) {
	id, err := v.siteID()
	if err != nil {
		return next{}, err
	}
	said, err := do(id)
	return next{said: said}, err
}

func describeSite(v *visit) (next, error) {
	return v.onSite(func(id int64) (string, error) {
		name := v.line("name")
		site, err := v.organization.UpdateSite(v.ctx(), id, client.SitePatch{Name: &name, Origins: v.origins()})
		return sentence("The name and origins of %s are saved.", site.Name), err
	})
}

func switchSite(v *visit) (next, error) {
	on, said := v.line("on") == "on", "%s is off: its pages run no app."
	if on {
		said = "%s is on: its pages run its apps again."
	}
	return v.onSite(func(id int64) (string, error) {
		site, err := v.organization.UpdateSite(v.ctx(), id, client.SitePatch{Enabled: &on})
		return sentence(said, site.Name), err
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
	return v.place(id, app)
}

func moveUp(v *visit) (next, error) { return v.move(-1) }

func moveDown(v *visit) (next, error) { return v.move(+1) }

// move has an app change places with its neighbour. Positions are numbered anew: those of neighbours
// may be the same.
func (v *visit) move(by int) (next, error) {
	return v.onSite(func(id int64) (string, error) {
		app, err := number(v.line("app"))
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
			return "", access.ErrNotFound
		}
		to := min(max(from+by, 0), len(all)-1)
		all[from], all[to] = all[to], all[from]
		for i, p := range all {
			if position := int64(i + 1); p.Position != position {
				if _, err := v.organization.UpdatePlacement(v.ctx(), id, p.AppID, client.PlacementPatch{Position: &position}); err != nil {
					return "", err
				}
			}
		}
		return sentence("%s is at position "+strconv.Itoa(to+1)+" now.", all[to].Name), nil
	})
}
