package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/console/markup"
)

// Placed shows an app on a site, and the form of its values.
type Placed struct {
	Frame
	client.Placement
	Site    client.Site
	App     client.App // without an id: it is no longer shared with the organization
	Of      int64      // the version whose values the form asks for; 0: the one the app is at
	Values  []setting
	Health  client.Health
	Try     string    // the path of the site's try page, for a frame
	Preview time.Time // until when Try is a preview of what was typed; zero: it is not
	Link    string    // to a preview on a page of the site; "": none
	schema  json.RawMessage
}

// setting is a field of a config_schema that pages get, or with no key a heading.
type setting struct {
	plugin.SchemaField
	Given string // as the form has it; "": the default
	given json.RawMessage
}

// Title is what the form calls the field.
func (s setting) Title() string { return cmp.Or(line(s.Name()), s.Key) }

// Otherwise is the default, as it is shown.
func (s setting) Otherwise() string { return asTyped(json.RawMessage(s.Default)) }

// Shown is what was given, as it is read; "": the default.
func (s setting) Shown() string { return asTyped(s.given) }

// Lines reports whether a text may have several.
func (s setting) Lines() bool {
	return s.Type == "textarea" || strings.Contains(s.Given+s.Otherwise(), "\n")
}

// Options are what can be chosen, as the form sends it and as it is shown.
func (s setting) Options() []option {
	all := make([]option, len(s.Choices))
	for i, choice := range s.Choices {
		all[i] = option{choice, asTyped(json.RawMessage(choice))}
	}
	return all
}

type option struct{ Value, Text string }

// asTyped is a JSON value as a form has it: a text without its quotes.
func asTyped(value json.RawMessage) string {
	var text string
	if len(value) == 0 || json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// settings are the fields of a schema whose values a page gets.
func settings(schema, config json.RawMessage) []setting {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(config, &given) // without values there are none
	fills := map[string]plugin.SchemaField{}
	for _, f := range site.Fields(string(schema)) {
		fills[f.Key] = f
	}
	var all []setting
	for _, f := range plugin.SchemaFields(string(schema)) {
		first, ok := fills[f.Key]
		switch {
		case f.Key == "" && f.Heading() != "":
			all = append(all, setting{SchemaField: f})
		case ok && first.Type == "choice":
			all = append(all, setting{first, string(given[f.Key]), given[f.Key]})
		case ok:
			all = append(all, setting{first, asTyped(given[f.Key]), given[f.Key]})
		}
		delete(fills, f.Key)
	}
	return all
}

// read is what the form says of a field: null for its default. What was not edited stays as it was
// given, which may be more than a form can say.
func (s setting) read(typed string) (json.RawMessage, error) {
	switch {
	case s.given != nil && typed == lineEnds.Replace(s.Given):
		return s.given, nil
	case strings.TrimSpace(typed) == "":
		return client.Null(), nil
	}
	must := map[string]string{"number": "a number", "boolean": "yes or no", "json": "JSON", "choice": "one of the choices"}[s.Type]
	if must == "" {
		return json.Marshal(typed)
	}
	if !json.Valid([]byte(typed)) {
		return nil, wrong("config."+s.Key, s.Title()+": must be "+must+".")
	}
	return json.RawMessage(typed), nil
}

// placed is the site that the path names, and the app on it.
func (v *visit) placed() (site client.Site, appID int64, err error) {
	id, err := v.siteID()
	if err != nil {
		return site, 0, err
	}
	if appID, err = number(v.request.PathValue("app")); err != nil {
		return site, 0, err
	}
	site, err = v.organization.GetSite(v.ctx(), id)
	return site, appID, err
}

// see asks the API for what the path names: an app on a site, or an app.
func (v *visit) see() error {
	if v.request.PathValue("site") == "" {
		_, err := v.app()
		return err
	}
	site, appID, err := v.placed()
	if err == nil {
		_, err = v.organization.GetPlacement(v.ctx(), site.ID, appID)
	}
	return err
}

func showPlacement(v *visit) (markup.Page, error) {
	shown, err := v.placedPage()
	return markup.Fill("placement.html", shown), err
}

func (v *visit) placedPage() (Placed, error) {
	shown, err := v.placing()
	if err != nil || shown.App.ID == 0 {
		return shown, err
	}
	shown.Health, err = v.organization.GetHealth(v.ctx(), shown.AppID, shown.Site.ID, time.Time{})
	return shown, err
}

// placing reads what the path names, with the values of the version that it is to run.
func (v *visit) placing() (Placed, error) {
	site, appID, err := v.placed()
	if err != nil {
		return Placed{}, err
	}
	p := Placed{Frame: v.frame("sites"), Site: site, Try: v.tryPath(site.Token)}
	if p.Placement, err = v.organization.GetPlacement(v.ctx(), site.ID, appID); err != nil {
		return Placed{}, err
	}
	p.App, err = v.organization.GetApp(v.ctx(), appID)
	if client.IsNotFound(err) {
		return p, nil
	}
	if err == nil {
		err = v.readSchema(&p)
	}
	p.Values = settings(p.schema, p.Config)
	return p, err
}

// readSchema finds out which values the form asks for: those of the version that was typed, or else
// that it is pinned to; if there is none, those of the version that the app is at.
func (v *visit) readSchema(p *Placed) error {
	p.schema = p.App.ConfigSchema
	wanted := []string{p.PinnedTo()}
	if v.request.PostForm.Has("version") {
		wanted = []string{v.line("version"), p.PinnedTo()}
	}
	for _, text := range wanted {
		n, err := number(text)
		if err != nil {
			if text == "" { // it follows the app
				return nil
			}
			continue
		}
		version, err := v.organization.GetVersion(v.ctx(), p.AppID, n)
		if client.IsNotFound(err) {
			continue
		}
		if p.schema = version.ConfigSchema; !version.Current {
			p.Of = n
		}
		return err
	}
	return nil
}

// previewPlacement shows the page with a preview of what was typed, which is not saved.
func previewPlacement(v *visit) (next, error) {
	v.request.PostForm.Set("do", "save") // the form is the same: what is wrong is marked in it
	shown, err := v.placedPage()
	if err != nil {
		return next{}, err
	}
	patch, err := v.placementPatch(shown.schema, shown.Config)
	if err != nil {
		return next{}, err
	}
	draft := client.PreviewDraft{URL: v.line("url"), Config: patch.Config}
	if draft.URL == "" {
		draft.URL = v.console.BaseURL + "/sites/" + shown.Site.Token + "/try"
	}
	if draft.Version, err = strconv.ParseInt(string(patch.Version), 10, 64); err != nil {
		draft.Version = 0 // it follows the app
	}
	made, err := v.organization.PreviewApp(v.ctx(), shown.Site.ID, shown.AppID, draft)
	if err != nil {
		return next{}, err
	}
	shown.sent, shown.Preview = v.request.PostForm, made.ExpiresAt
	if v.line("url") == "" {
		shown.Try = v.console.prefix + strings.TrimPrefix(made.URL, v.console.BaseURL)
	} else {
		shown.Link, shown.Try = made.URL, ""
	}
	return next{page: new(markup.Fill("placement.html", shown))}, nil
}

// PathLines is the list of paths as a form has it.
func (p Placed) PathLines() string { return strings.Join(p.Paths, "\n") }

// PinnedTo is the version that the form names; "": the app's current one.
func (p Placed) PinnedTo() string {
	if p.Version == nil {
		return ""
	}
	return strconv.FormatInt(*p.Version, 10)
}

// placementPatch is what the form says of an app on a site that has a config.
func (v *visit) placementPatch(schema, config json.RawMessage) (patch client.PlacementPatch, err error) {
	patch = client.PlacementPatch{
		Enabled: new(v.line("enabled") == "on"), Paths: append([]string{}, strings.Fields(v.typed("paths"))...),
		Version: client.Null(), Config: map[string]json.RawMessage{},
	}
	if text := v.line("version"); text != "" {
		n, err := number(text)
		if err != nil {
			return patch, wrong("version", "Must be the number of a version, or empty to follow the app.")
		}
		patch.Version = json.RawMessage(strconv.FormatInt(n, 10))
	}
	if text := v.line("position"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return patch, wrong("position", "Must be a whole number.")
		}
		patch.Position = &n
	}
	for _, s := range settings(schema, config) {
		if s.Key == "" || !v.request.PostForm.Has("config."+s.Key) { // the form was that of another version
			continue
		}
		if patch.Config[s.Key], err = s.read(v.typed("config." + s.Key)); err != nil {
			return patch, err
		}
	}
	return patch, nil
}

func savePlacement(v *visit) (next, error) {
	before, err := v.placing()
	if err != nil {
		return next{}, err
	}
	patch, err := v.placementPatch(before.schema, before.Config)
	if err != nil {
		return next{}, err
	}
	if patch.Config = edited(patch.Config, before.Config); *patch.Enabled == before.Enabled {
		patch.Enabled = nil // its values would be checked anew
	}
	placed, err := v.organization.UpdatePlacement(v.ctx(), before.Site.ID, before.AppID, patch)
	return next{said: sentence("%s "+state(placed)+" on %s now.", placed.Name, before.Site.Name)}, err
}

// edited leaves out of a patch what is given already: others may have changed it since, and what has become
// wrong must not keep an app from being switched off.
func edited(patch map[string]json.RawMessage, config json.RawMessage) map[string]json.RawMessage {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(config, &given) // without values there are none
	maps.DeleteFunc(patch, func(key string, value json.RawMessage) bool {
		was, ok := given[key]
		return bytes.Equal(value, was) || !ok && bytes.Equal(value, client.Null())
	})
	return patch
}

// state is how an app is on a site, in a sentence.
func state(p client.Placement) string {
	switch {
	case !p.Enabled:
		return "is off"
	case p.Running == nil:
		return "does not run"
	case p.Held != nil:
		return "is held at version " + strconv.FormatInt(*p.Running, 10)
	}
	return "runs version " + strconv.FormatInt(*p.Running, 10)
}

func removePlacement(v *visit) (next, error) {
	site, appID, err := v.placed()
	if err != nil {
		return next{}, err
	}
	placed, err := v.organization.GetPlacement(v.ctx(), site.ID, appID)
	if err == nil {
		err = v.organization.DeletePlacement(v.ctx(), site.ID, appID)
	}
	return next{path: v.home + "/sites/" + strconv.FormatInt(site.ID, 10), said: sentence("%s is off %s.", placed.Name, site.Name)}, err
}
