package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"foyer/client"
	"foyer/internal/domain/configschema"
	"foyer/internal/face/console/markup"
)

// Upgrade shows what an upgrade of an app would change, before it is confirmed.
type Upgrade struct {
	Frame
	App    client.App
	ETag   string // of the app as it is reviewed
	To     client.UpgradeReview
	Tag    string // the wanted tag; "": the newest
	Wrong  bool   // it cannot be reviewed
	Moved  bool   // the tag leads to another commit than at the install
	Files  differences
	Fields []fieldChange
}

// Same reports whether the app is at this version already.
func (p Upgrade) Same() bool {
	return p.To.Tag == p.App.Tag && len(p.Files.Files) == 0 && !p.Moved
}

// fieldChange is a field of the schema that was added, removed or changed.
type fieldChange struct {
	Title   string
	Gone    bool
	Changed bool
	Needs   bool // a value, unlike before
}

// Waits reports whether sites may stay at the previous version, because their values may not satisfy the new fields.
func (p Upgrade) Waits() bool { return mayWait(p.Fields) }

func mayWait(fields []fieldChange) bool {
	return slices.ContainsFunc(fields, func(f fieldChange) bool { return f.Needs || f.Changed })
}

// fieldChanges returns the fields that only one schema has, or that differ between both.
func fieldChanges(before, after json.RawMessage) []fieldChange {
	was, is := configschema.Fields(string(before)), configschema.Fields(string(after))
	had, has := byKey(was), byKey(is)
	var all []fieldChange
	for _, f := range is {
		before, stays := had[f.Key]
		if f.Key != "" && (!stays || !alike(before, f)) {
			all = append(all, fieldChange{Title: schemaField{Field: f}.Title(), Changed: stays, Needs: f.Needed() && !before.Needed()})
		}
	}
	for _, f := range was {
		if _, stays := has[f.Key]; f.Key != "" && !stays {
			all = append(all, fieldChange{Title: schemaField{Field: f}.Title(), Gone: true})
		}
	}
	return all
}

// alike reports whether two fields take the same values, and pages get the same values from them.
func alike(a, b configschema.Field) bool {
	return a.Type == b.Type && a.Default == b.Default && slices.Equal(a.Choices, b.Choices) &&
		a.Secret == b.Secret && a.Site == b.Site && a.Required == b.Required
}

func byKey(fields []configschema.Field) map[string]configschema.Field {
	keyed := make(map[string]configschema.Field, len(fields))
	for _, f := range fields {
		keyed[f.Key] = f
	}
	return keyed
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
		if v.refused == nil { // after a form, the reason is known
			v.refuse(*refused)
			shown.Frame = v.frameOf(app)
		}
		return markup.Fill("upgrade.html", shown), nil
	}
	shown.Files, shown.Fields = readDiffs(shown.To.Files, side{source.Source, true}), fieldChanges(app.ConfigSchema, shown.To.ConfigSchema)
	return markup.Fill("upgrade.html", shown), err
}

// contentChanged is the API's code for a tag that was moved. Pages show tagMoved for it.
const (
	contentChanged = "content_changed"
	tagMoved       = "It points to another commit than when it was installed. To accept the new commit, tick the box and review it."
)

// changedMeanwhile is the message about an app that has changed since it was reviewed.
const changedMeanwhile = "Somebody else has changed the app since this page was opened"

// reviewed asks for changes of an app only while it has this ETag; "": always.
func (v *visit) reviewed(etag string) *client.Organization {
	if etag == "" {
		return v.organization
	}
	return v.organization.With(client.IfMatch(etag))
}

func upgradeApp(v *visit) (next, error) {
	then, err := v.onApp(func(id int64) (string, error) {
		to := client.Upgrade{AcceptChanged: v.ticked("accept_changed"), Commit: v.line("commit")}
		if tag := v.line("tag"); tag != "" {
			to.Tag = &tag
		}
		app, err := v.reviewed(v.line("etag")).UpgradeApp(v.ctx(), id, to)
		refused, ok := errors.AsType[*client.Error](err)
		switch {
		case ok && refused.Code == contentChanged && refused.Attr == "commit":
			return "", refusal(refused.Status, "The upgrade leads to another commit than when this page was opened. Below is what it changes now.")
		case ok && refused.Code == contentChanged:
			return "", wrong("tag", tagMoved)
		case ok && refused.Status == http.StatusPreconditionFailed:
			return "", refusal(refused.Status, changedMeanwhile+". Below is what an upgrade changes now.")
		}
		return sentence("%s is now at %s.", app.Name, app.Tag), err
	})
	then.path = v.appPath()
	return then, err
}
