package console

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/console/markup"
)

// Placed shows an app on a site, and the form of its values.
type Placed struct {
	Frame
	client.Placement
	Site   client.Site
	Values []setting
}

// setting is a field of a config_schema that pages get.
type setting struct {
	plugin.SchemaField
	Given string // as the form has it; "": the default
}

// Title is what the form calls the field.
func (s setting) Title() string { return cmp.Or(line(s.Name()), s.Key) }

// Otherwise is the default, as it is shown.
func (s setting) Otherwise() string { return asTyped(json.RawMessage(s.Default)) }

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
	var all []setting
	for _, f := range site.Fields(string(schema)) {
		all = append(all, setting{f, asTyped(given[f.Key])})
	}
	return all
}

// read is what the form says of a field: null for its default.
func (s setting) read(typed string) (json.RawMessage, error) {
	if strings.TrimSpace(typed) == "" {
		return client.Null(), nil
	}
	switch s.Type {
	case "number", "boolean", "json":
		if !json.Valid([]byte(typed)) {
			return nil, wrong("config."+s.Key, s.Title()+": must be "+map[string]string{"number": "a number", "boolean": "yes or no", "json": "JSON"}[s.Type]+".")
		}
		return json.RawMessage(typed), nil
	}
	return json.Marshal(typed)
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

func showPlacement(v *visit) (markup.Page, error) {
	site, appID, err := v.placed()
	if err != nil {
		return markup.Page{}, err
	}
	shown := Placed{Frame: v.frame("sites"), Site: site}
	if shown.Placement, err = v.organization.GetPlacement(v.ctx(), site.ID, appID); err != nil {
		return markup.Page{}, err
	}
	app, err := v.organization.GetApp(v.ctx(), appID)
	shown.Values = settings(app.ConfigSchema, shown.Config)
	return markup.Fill("placement.html", shown), err
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

// placementPatch is what the form says of an app on a site.
func (v *visit) placementPatch(schema json.RawMessage) (patch client.PlacementPatch, err error) {
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
	for _, s := range settings(schema, nil) {
		if patch.Config[s.Key], err = s.read(v.typed("config." + s.Key)); err != nil {
			return patch, err
		}
	}
	return patch, nil
}

func savePlacement(v *visit) (next, error) {
	site, appID, err := v.placed()
	if err != nil {
		return next{}, err
	}
	app, err := v.organization.GetApp(v.ctx(), appID)
	if err != nil {
		return next{}, err
	}
	patch, err := v.placementPatch(app.ConfigSchema)
	if err != nil {
		return next{}, err
	}
	placed, err := v.organization.UpdatePlacement(v.ctx(), site.ID, appID, patch)
	return next{said: sentence("%s "+state(placed)+" on %s now.", placed.Name, site.Name)}, err
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
