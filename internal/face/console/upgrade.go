package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"foyer/client"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/console/markup"
)

// Upgrade shows what an upgrade of an app would change, before it is confirmed.
type Upgrade struct {
	Frame
	App    client.App
	ETag   string // of the app as it is reviewed
	To     client.UpgradeReview
	Tag    string // that was asked for; "": the newest
	Wrong  bool   // it cannot be reviewed
	Moved  bool   // the tag leads to another commit than when it was installed
	Files  differences
	Fields []fieldChange
}

// Same reports whether the app is there already.
func (p Upgrade) Same() bool {
	return p.To.Tag == p.App.Tag && len(p.Files.Files) == 0 && !p.Moved
}

// fieldChange is a field of the schema that came or went.
type fieldChange struct {
	Title string
	Gone  bool
	Needs bool // a value: without one, sites keep the version before
}

// Waits reports whether a new field needs a value.
func (p Upgrade) Waits() bool { return needValues(p.Fields) }

func needValues(fields []fieldChange) bool {
	return slices.ContainsFunc(fields, func(f fieldChange) bool { return f.Needs })
}

// fieldChanges are the fields that one schema has and the other has not.
func fieldChanges(before, after json.RawMessage) []fieldChange {
	was, is := plugin.SchemaFields(string(before)), plugin.SchemaFields(string(after))
	had, has := keysOf(was), keysOf(is)
	var all []fieldChange
	for _, f := range is {
		if f.Key != "" && !had[f.Key] {
			all = append(all, fieldChange{Title: setting{SchemaField: f}.Title(), Needs: f.Needed()})
		}
	}
	for _, f := range was {
		if f.Key != "" && !has[f.Key] {
			all = append(all, fieldChange{Title: setting{SchemaField: f}.Title(), Gone: true})
		}
	}
	return all
}

func keysOf(fields []plugin.SchemaField) map[string]bool {
	keys := make(map[string]bool, len(fields))
	for _, f := range fields {
		keys[f.Key] = true
	}
	return keys
}

func showUpgrade(v *visit) (markup.Page, error) {
	id, err := v.appID()
	if err != nil {
		return markup.Page{}, err
	}
	shown := Upgrade{Tag: v.request.URL.Query().Get("tag")}
	source, err := v.organization.With(client.ETag(&shown.ETag)).GetSource(v.ctx(), id)
	if err != nil {
		return markup.Page{}, err
	}
	app := source.App
	shown.Frame, shown.App = v.frameOf(app), app
	shown.Moved = v.request.URL.Query().Get("accept_changed") == "on"
	shown.To, err = v.organization.ReviewUpgrade(v.ctx(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: &shown.Tag}, AcceptChanged: shown.Moved})
	if refused, ok := errors.AsType[*client.Error](err); ok && correctable(refused.Status) {
		if shown.Wrong = true; refused.Code == contentChanged {
			shown.Moved = true
			refused.Errors = []client.Fault{{Attr: "tag", Detail: tagMoved}}
		}
		if v.refused == nil { // of the form, it is known why
			v.refuse(*refused)
			shown.Frame = v.frameOf(app)
		}
		return markup.Fill("upgrade.html", shown), nil
	}
	shown.Files, shown.Fields = readDiffs(shown.To.Files, side{source.Source, true}), fieldChanges(app.ConfigSchema, shown.To.ConfigSchema)
	return markup.Fill("upgrade.html", shown), err
}

// contentChanged is the API's code for a tag that was moved, of which pages say tagMoved.
const (
	contentChanged = "content_changed"
	tagMoved       = "It leads to another commit than when it was installed. To have it as it is now, tick the box and review it."
)

// changedMeanwhile is said of an app that is no longer as it was reviewed.
const changedMeanwhile = "Somebody else has changed the app since this page was opened"

// reviewed asks for changes of an app only as long as it is as an ETag names it; "": however it is.
func (v *visit) reviewed(etag string) *client.Organization {
	if etag == "" {
		return v.organization
	}
	return v.organization.With(client.IfMatch(etag))
}

func upgradeApp(v *visit) (next, error) {
	then, err := v.onApp(func(id int64) (string, error) {
		to := client.Upgrade{AcceptChanged: v.typed("accept_changed") == "on", Commit: v.line("commit")}
		if tag := v.line("tag"); tag != "" {
			to.Tag = &tag
		}
		app, err := v.reviewed(v.line("etag")).UpgradeApp(v.ctx(), id, to)
		refused, ok := errors.AsType[*client.Error](err)
		switch {
		case ok && refused.Code == contentChanged && refused.Attr == "commit":
			return "", refusal(refused.Status, "", "The upgrade leads to another commit than when this page was opened. Below is what it changes now.")
		case ok && refused.Code == contentChanged:
			return "", wrong("tag", tagMoved)
		case ok && refused.Status == http.StatusPreconditionFailed:
			return "", refusal(refused.Status, "", changedMeanwhile+". Below is what an upgrade changes now.")
		}
		return sentence("%s is now at %s.", app.Name, app.Tag), err
	})
	then.path = v.appPath()
	return then, err
}
