package console

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/console/markup"
)

// shownVersions is how many versions the page of an app shows.
const shownVersions = 10

// App shows an app, its files and its versions.
type App struct {
	Frame
	client.AppSource
	Current       client.Version // that the app is at; zero if it has no upstream
	Versions      []versionRow
	VersionsCount int
	Sites         []client.SitePlacement // where it is placed
}

// upstream reports whether an app comes from somewhere else.
func upstream(app client.App) bool { return plugin.Type(app.PluginType).Installed() }

// another reports whether the newest known version of an app's upstream is not the one that
// the app is at.
func another(app client.App) bool {
	return upstream(app) && app.LatestTag != "" && app.LatestTag != app.Tag
}

// SavedHere reports whether the app has files that its upstream does not have.
func (p App) SavedHere() bool {
	return upstream(p.App) && p.Current.Version != 0 && p.Current.Commit == ""
}

// Broken reports whether a file of the app does not compile, so that its bundle, if it has one,
// is an earlier version's.
func (p App) Broken() bool {
	return slices.ContainsFunc(p.SourceFiles, func(f client.SourceFile) bool { return f.Status == "error" })
}

// Newest is the address of the app's current bundle, whichever that is.
func (p App) Newest() string {
	return p.Bundle.URL[:strings.LastIndexByte(p.Bundle.URL, '/')] + "/site.js"
}

// Declared is the JSON that the app has of its own, by its name in the API.
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
	versions, err := v.organization.ListVersions(v.ctx(), app.ID, client.Range{Limit: shownVersions})
	if err != nil {
		return markup.Page{}, err
	}
	var current client.Version
	if upstream(app.App) { // only SavedHere asks
		if current, err = v.currentVersion(app.ID); err != nil {
			return markup.Page{}, err
		}
	}
	placed, err := v.organization.ListSitesOfApp(v.ctx(), app.ID, client.Range{Limit: perPage})
	if err != nil {
		return markup.Page{}, err
	}
	return markup.Fill("app.html", App{
		Frame: v.frameOf(app.App), AppSource: app, Current: current, Versions: v.rows(app.ID, versions.Results), VersionsCount: versions.Count,
		Sites: placed.Results,
	}), nil
}

// app is the app that the path names.
func (v *visit) app() (client.App, error) {
	id, err := v.appID()
	if err != nil {
		return client.App{}, err
	}
	return v.organization.GetApp(v.ctx(), id)
}

// source is the app that the path names, with its files.
func (v *visit) source() (client.AppSource, error) {
	id, err := v.appID()
	if err != nil {
		return client.AppSource{}, err
	}
	return v.organization.GetSource(v.ctx(), id)
}

// frameOf is the frame of a page about one app. What another organization shares can be
// changed only there.
func (v *visit) frameOf(app client.App) Frame {
	f := v.frame("apps")
	f.Offer.ChangeApps = f.Offer.ChangeApps && app.OrganizationID == v.caller.Organization.ID
	return f
}

// appPath is the path of the page of the app that the path names.
func (v *visit) appPath() string {
	return v.home + "/apps/" + url.PathEscape(v.request.PathValue("id"))
}

// onApp does something to the app that the path names, and says what.
func (v *visit) onApp(do func(id int64) (said string, err error)) (next, error) {
	id, err := v.appID()
	if err != nil {
		return next{}, err
	}
	said, err := do(id)
	return next{said: said}, err
}

// checkInterval is how often the API asks an upstream that answers.
const checkInterval = 5 * time.Minute

// unanswered says since when an upstream does not answer.
func unanswered(since time.Time) error {
	return refusal(http.StatusBadGateway, "", "The git host does not answer. The newest known tag is from "+moment(since)+".")
}

func checkApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		app, age, err := v.organization.CheckForUpdates(v.ctx(), id)
		switch {
		case err == nil && age > checkInterval:
			return "", unanswered(v.console.Keys.Now().Add(-age))
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

func upgradeApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		to := client.Upgrade{AcceptChanged: v.typed("accept_changed") == "on"}
		if tag := v.line("tag"); tag != "" {
			to.Tag = &tag
		}
		app, err := v.organization.UpgradeApp(v.ctx(), id, to)
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "content_changed" {
			return "", wrong("tag", "It leads to another commit than when it was installed. To have it as it is now, tick the box below.")
		}
		return sentence("%s is at %s now.", app.Name, app.Tag), err
	})
}

// describeApp changes what differs from what the page showed: somebody else may have changed the
// rest since.
func describeApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		patch := client.AppPatch{Name: v.edited("name"), Description: v.edited("description")}
		if box := v.edited("is_global"); box != nil {
			shared := *box == "on"
			patch.IsGlobal = &shared
		}
		app, err := v.organization.UpdateApp(v.ctx(), id, patch)
		return sentence("The name and description of %s are saved.", app.Name), err
	})
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

// Source shows one file of an app, to be edited; or an empty one to be added.
type Source struct {
	Frame
	App  client.App
	File client.SourceFile // with an empty name: a new one
	Text string
}

// IsText reports whether the file can be shown, and changed by hand.
func (s Source) IsText() bool { return utf8.ValidString(s.Text) && !strings.Contains(s.Text, "\x00") }

func showSource(v *visit) (markup.Page, error) {
	app, err := v.source()
	if err != nil {
		return markup.Page{}, err
	}
	page := Source{Frame: v.frameOf(app.App), App: app.App}
	name := v.request.URL.Query().Get("file")
	page.File, page.Text = fileOf(app, name), app.Source[name]
	if page.File.Filename != name && v.refused == nil {
		return markup.Page{}, fault.New(fault.NotFound, "The app has no file of this name.")
	}
	return markup.Fill("source.html", page), nil
}

// saveFile keeps the text of a file, unless somebody else has changed the file since its page
// was opened: then the page says so, and saving again keeps it. Browsers send every line end as
// CR LF: a file that had any keeps them all, and one that was not edited stays as it was.
func saveFile(v *visit) (next, error) {
	name, text := v.filename(), v.typed("text")
	said := sentence("%s is saved.", name)
	then, err := v.onApp(func(id int64) (string, error) {
		app, err := v.organization.GetSource(v.ctx(), id)
		if err != nil {
			return "", err
		}
		stored, there := app.Source[name]
		if there && text == lineEnds.Replace(stored) {
			return said, nil // it is saved: the form was sent twice, or not edited
		}
		switch v.line("sha256") {
		case fileOf(app, name).SHA256:
		case "":
			return "", wrong("source", "There is a file of this name: open it to change it.")
		default:
			return "", wrong("source", "Somebody else has changed the file since you opened it. Save again to have it as it is here; open the page in another tab to see theirs.")
		}
		if strings.Contains(stored, "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		return said, v.setFile(id, name, &text)
	})
	then.path = v.appPath() + "/source?file=" + url.QueryEscape(name)
	return then, err
}

// filename is the one in the form: of an existing file as it is, of a new one without white
// space around it.
func (v *visit) filename() string {
	name := v.request.PostForm.Get("filename")
	if v.line("sha256") == "" {
		name = strings.TrimSpace(name)
	}
	return name
}

// deleteFile removes a file, unless somebody else has changed it since its page was opened.
func deleteFile(v *visit) (next, error) {
	name := v.filename()
	said := sentence("%s is deleted.", name)
	then, err := v.onApp(func(id int64) (string, error) {
		app, err := v.organization.GetSource(v.ctx(), id)
		if err != nil {
			return "", err
		}
		switch fileOf(app, name).SHA256 {
		case "": // it is gone: the form was sent twice
			return said, nil
		case v.line("sha256"):
			return said, v.setFile(id, name, nil)
		}
		return "", wrong("", "Somebody else has changed the file since you opened it. It is shown as it is now: delete it again to be rid of it.")
	})
	then.path = v.appPath()
	return then, err
}

func (v *visit) setFile(id int64, name string, text *string) error {
	_, err := v.organization.UpdateSource(v.ctx(), id, client.SourcePatch{Source: map[string]*string{name: text}})
	return err
}

// lineEnds makes one of all.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// fileOf is how one of an app's files fared; zero if there is no such file.
func fileOf(app client.AppSource, name string) client.SourceFile {
	for _, file := range app.SourceFiles {
		if file.Filename == name {
			return file
		}
	}
	return client.SourceFile{}
}
