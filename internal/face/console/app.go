package console

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/console/markup"
)

// The page of an app shows this many of its versions and files.
const (
	shownVersions = 10
	shownFiles    = 20
)

// App shows an app: where it runs and how, its files and its versions.
type App struct {
	List[client.SitePlacement] // where it is placed
	client.AppSource
	Edited        bool // its files differ from its upstream's
	Versions      []client.Version
	VersionsCount int
	Unplaced      *Unplaced // it is on no site, and could be
	Health        client.Health
	Shown         client.SiteName // that it runs on, shown in a frame; zero: none
	ShownPaths    []string        // where it runs there
	Try           string          // the path of that site's try page
}

// ValuesOf returns the values that pages get from a placement, in the schema's order, under the names that its form uses.
func (p App) ValuesOf(placed client.SitePlacement) []field {
	var all []field
	for _, s := range schemaFields(p.ConfigSchema, placed.Values, nil) {
		if value := s.Shown(); s.Key != "" && value != "" {
			all = append(all, field{s.Title(), value})
		}
	}
	return all
}

// upstream reports whether an app comes from somewhere else.
func upstream(app client.App) bool { return plugin.Type(app.PluginType).Installed() }

// another reports whether the app is at another version than the newest known one of its upstream.
func another(app client.App) bool {
	return upstream(app) && app.LatestTag != "" && app.LatestTag != app.Tag
}

// Broken reports whether a file of the app does not compile. Its bundle, if it has one, is then an earlier version's.
func (p App) Broken() bool {
	return slices.ContainsFunc(p.SourceFiles, func(f client.SourceFile) bool { return f.Status == "error" })
}

// Files returns the files that the page shows: first those that do not compile or have a warning.
func (p App) Files() []client.SourceFile {
	fine := func(f client.SourceFile) int {
		switch {
		case f.Status == "error":
			return 0
		case f.Warning != "":
			return 1
		}
		return 2
	}
	all := slices.Clone(p.SourceFiles)
	if len(all) > shownFiles {
		slices.SortStableFunc(all, func(a, b client.SourceFile) int { return fine(a) - fine(b) })
	}
	return all[:min(len(all), shownFiles)]
}

// Comparison is the form to compare two of the newest versions.
func (p App) Comparison() comparison {
	return newestTwo(appPage(p.Home, p.ID), p.Versions)
}

// VersionTable is the list of the newest versions.
func (p App) VersionTable() versionTable { return versionTable{appPage(p.Home, p.ID), p.Versions} }

// Newest is the address of the app's current bundle, whichever version that is.
func (p App) Newest() string {
	return p.Bundle.URL[:strings.LastIndexByte(p.Bundle.URL, '/')] + "/site.js"
}

// Declared returns the JSON that the app itself declares, by its name in the API.
func (p App) Declared() map[string]json.RawMessage {
	all := map[string]json.RawMessage{
		"config_schema": p.ConfigSchema, "capabilities": p.Capabilities, "metrics": p.Metrics, "public_jobs": p.PublicJobs,
	}
	maps.DeleteFunc(all, func(_ string, text json.RawMessage) bool { return string(text) == "null" || string(text) == "{}" })
	return all
}

func showApp(v *visit) (markup.Page, error) {
	app, err := v.source()
	if err != nil {
		return markup.Page{}, err
	}
	shown := App{AppSource: app}
	if upstream(app.App) {
		edited, err := v.organization.ListApps(v.ctx(), client.AppFilter{State: string(plugin.IsEdited), IDs: []int64{app.ID}}, client.Range{})
		if err != nil {
			return markup.Page{}, err
		}
		shown.Edited = edited.Count > 0
	}
	versions, err := v.organization.ListVersions(v.ctx(), app.ID, client.Range{Limit: shownVersions})
	if err != nil {
		return markup.Page{}, err
	}
	shown.Versions, shown.VersionsCount = versions.Results, versions.Count
	shown.List, err = list(v, "apps", func(ctx context.Context, part client.Range) (client.Page[client.SitePlacement], error) {
		return v.organization.ListSitesOfApp(ctx, app.ID, part)
	})
	if err != nil {
		return markup.Page{}, err
	}
	shown.Frame = v.frameOf(app.App)
	if shown.Count > 0 {
		shown.Health, err = v.organization.GetHealth(v.ctx(), app.ID, 0, time.Time{})
	} else {
		shown.Unplaced, err = v.unplaced(app)
	}
	if err != nil {
		return markup.Page{}, err
	}
	shown.choose(v)
	return markup.Fill("app.html", shown), nil
}

// choose finds a site to show: one that runs the app on all its pages, else one that runs it on some.
func (p *App) choose(v *visit) {
	for _, s := range p.Items {
		if s.Enabled && s.Running != nil && (p.Try == "" || len(p.ShownPaths) > 0 && len(s.Paths) == 0) {
			p.Shown, p.ShownPaths, p.Try = s.Site, s.Paths, v.tryPath(s.Site.Token)
		}
	}
}

// app returns the app that the path names.
func (v *visit) app() (client.App, error) {
	id, err := v.appID()
	if err != nil {
		return client.App{}, err
	}
	return v.organization.GetApp(v.ctx(), id)
}

// source returns the app that the path names, with its files.
func (v *visit) source() (client.AppSource, error) {
	id, err := v.appID()
	if err != nil {
		return client.AppSource{}, err
	}
	return v.organization.GetSource(v.ctx(), id)
}

// frameOf returns the frame of a page about one app, which offers to change that app or none.
func (v *visit) frameOf(app client.App) Frame {
	f := v.frame("apps")
	f.Offer.ChangeApps = f.Offer.changes(app)
	return f
}

// appPage is the path of the page of an app, below that of its organization; or of its placement, below that of a site.
func appPage(home string, id int64) string { return home + "/apps/" + strconv.FormatInt(id, 10) }

// appPath is the path of the page of the app that the path names.
func (v *visit) appPath() string {
	return v.home + "/apps/" + url.PathEscape(v.request.PathValue("id"))
}

// onApp does something to the app that the path names, and reports what.
func (v *visit) onApp(do func(id int64) (flash string, err error)) (next, error) {
	return doOn(v.appID, do)
}

// doOn does something to the item that the path names, and reports what.
func doOn(named func() (int64, error), do func(id int64) (flash string, err error)) (next, error) {
	id, err := named()
	if err != nil {
		return next{}, err
	}
	flash, err := do(id)
	return next{flash: flash}, err
}

// checkInterval is how often the API asks an upstream that answers.
const checkInterval = 5 * time.Minute

func checkApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		app, age, err := v.organization.CheckForUpdates(v.ctx(), id)
		switch {
		case err == nil && age > checkInterval:
			since := moment(v.console.Keys.Now().Add(-age))
			return "", refusal(http.StatusBadGateway, "The git host does not answer. The newest known tag is from "+since+".")
		case another(app):
			return sentence("%s is the newest tag of %s.", app.LatestTag, app.Name), err
		}
		return sentence("%s is up to date. foyer asks the git host at most every five minutes.", app.Name), err
	})
}

func disableApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		app, err := v.organization.DisableApp(v.ctx(), id, v.line("reason"))
		return sentence("%s is disabled: pages that are loaded 20 seconds later do not run it.", app.Name), err
	})
}

func enableApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		app, err := v.organization.EnableApp(v.ctx(), id)
		return sentence("%s is enabled.", app.Name), err
	})
}

func describeApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		patch := client.AppPatch{Name: v.edited("name"), Description: v.edited("description"), IsGlobal: v.editedBox("is_global")}
		app, err := v.organization.UpdateApp(v.ctx(), id, patch)
		return changesOf(app, patch), err
	})
}

// changesOf describes what was changed in an app.
func changesOf(app client.App, patch client.AppPatch) string {
	var all []string
	switch {
	case patch.Name != nil && patch.Description != nil:
		all = append(all, sentence("The name and description of %s are saved.", app.Name))
	case patch.Name != nil:
		all = append(all, sentence("The app is now called %s.", app.Name))
	case patch.Description != nil:
		all = append(all, sentence("The description of %s is saved.", app.Name))
	}
	switch {
	case patch.IsGlobal == nil:
	case *patch.IsGlobal:
		all = append(all, sentence("%s is shared with every organization.", app.Name))
	default:
		all = append(all, sentence("%s is no longer shared with other organizations.", app.Name))
	}
	if all == nil {
		return sentence("Nothing of %s was changed.", app.Name)
	}
	return strings.Join(all, " ")
}

func deleteApp(v *visit) (next, error) {
	then, err := v.onApp(func(id int64) (string, error) {
		app, err := v.organization.GetApp(v.ctx(), id)
		if err != nil {
			return "", err
		}
		return sentence("%s is deleted.", app.Name), v.organization.DeleteApp(v.ctx(), id)
	})
	then.path = v.home + "/apps"
	return then, err
}
