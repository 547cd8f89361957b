package console

import (
	"cmp"
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

// Placed shows an app on a site, and the form of its values.
type Placed struct {
	Frame
	client.Placement
	Site     client.Site
	Shared   bool             // it is the organization's, or still shared with it
	Versions []client.Version // that can be chosen, the newest first
	Of       int64            // the version whose values the form asks for; 0: the app's current one
	Values   []schemaField
	Try      string    // the path of the site's try page, for a frame
	Preview  time.Time // until when Try is a preview of the typed values; zero: it is none
	Link     string    // to a preview on a page of the site; "": none
	schema   json.RawMessage
	wrong    map[string]string // what is wrong with values, by their keys
}

// Wrong is what is wrong with a value; "": nothing is known.
func (p Placed) Wrong(key string) string { return p.wrong[key] }

// FaultID is the id of a field's fault. It has no blanks, which a key may have.
func (p Placed) FaultID(name string) string { return "fault-" + url.PathEscape(name) }

// Marks returns the attributes of a field. The fault of a value is below its field.
func (p Placed) Marks(do, name string, notes ...string) template.HTMLAttr {
	if key, ok := strings.CutPrefix(name, "config."); ok && p.wrong[key] != "" {
		return template.HTMLAttr(`aria-invalid="true" aria-describedby="` + template.HTMLEscapeString(p.FaultID(name)) + `"`) // it is escaped
	}
	return p.Frame.Marks(do, name, notes...)
}

// blame finds out what is wrong with values: those of a form that was refused, else the stored ones.
func (p *Placed) blame() {
	p.wrong = map[string]string{}
	if p.Held != nil && !p.Sent("save preview") {
		p.wrong = readHeld(*p.Held).Faults
	}
	p.Faults = slices.Clone(p.Faults)
	known := p.known()
	for i, f := range p.Faults {
		key, ok := strings.CutPrefix(f.Attr, "config.")
		if value, has := known[key]; ok && has {
			p.wrong[key] = f.Detail
			p.Faults[i].Detail = value.Title() + ": " + f.Detail
		}
	}
}

// known returns the values that the form asks for, by their keys; "": the last heading.
func (p Placed) known() map[string]schemaField {
	known := make(map[string]schemaField, len(p.Values))
	for _, s := range p.Values {
		known[s.Key] = s
	}
	return known
}

// placed returns the site that the path names, and the id of the app on it.
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

// checkPath asks the API for what the path names: an app on a site, an app, or only the organization, which visit has
// found.
func (v *visit) checkPath() error {
	if v.request.PathValue("site") == "" {
		if v.request.PathValue("id") == "" {
			return nil
		}
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
	shown, err := v.placing()
	if shown.Typed == nil {
		shown.Typed = v.unmatched(shown)
	}
	return markup.Fill("placement.html", shown), err
}

// placing reads what the path names, with the values of the version that it should run.
func (v *visit) placing() (Placed, error) {
	site, appID, err := v.placed()
	if err != nil {
		return Placed{}, err
	}
	p := Placed{Frame: v.frame("sites"), Site: site, Try: v.tryPath(site.Token)}
	if p.Placement, err = v.organization.GetPlacement(v.ctx(), site.ID, appID); err != nil {
		return Placed{}, err
	}
	p.Versions, err = v.allVersions(appID)
	if client.IsNotFound(err) {
		return p, nil
	}
	if err == nil {
		p.Shared = true
		err = cmp.Or(v.findPinned(&p), v.readSchema(&p))
	}
	p.Versions = slices.DeleteFunc(p.Versions, func(v client.Version) bool {
		return v.Withdrawn != nil && strconv.FormatInt(v.Version, 10) != p.PinnedTo()
	})
	p.Values = schemaFields(p.schema, p.Config, v.unwanted(p))
	p.blame()
	return p, err
}

// unwanted returns the keys of values that hold the app, that a form was refused for, or that the form removes. Such a field
// may be one that pages do not get: the app had it differently before.
func (v *visit) unwanted(p Placed) map[string]bool {
	keys := map[string]bool{}
	if p.Held != nil {
		for key := range readHeld(*p.Held).Faults {
			keys[key] = true
		}
	}
	for _, f := range p.Faults {
		keys[strings.TrimPrefix(f.Attr, "config.")] = true
	}
	for _, f := range fieldsOf(v.request.PostForm) {
		if strings.TrimSpace(f.Value) == "" {
			keys[strings.TrimPrefix(f.Name, "config.")] = true
		}
	}
	return keys
}

// Current is the app's current version; 0: it has none.
func (p Placed) Current() int64 {
	for _, v := range p.Versions {
		if v.Current {
			return v.Version
		}
	}
	return 0
}

// Lost is the version that it is pinned to, if that cannot be chosen; "": it can.
func (p Placed) Lost() string {
	pinned := p.PinnedTo()
	if slices.ContainsFunc(p.Versions, func(v client.Version) bool { return strconv.FormatInt(v.Version, 10) == pinned }) {
		return ""
	}
	return pinned
}

// findPinned adds the version that it is pinned to, if that exists and is not listed: the app was shared later.
func (v *visit) findPinned(p *Placed) error {
	if p.Lost() == "" {
		return nil
	}
	version, err := v.organization.GetVersion(v.ctx(), p.AppID, *p.Version)
	if client.IsNotFound(err) {
		return nil
	}
	if err == nil {
		p.Versions = append(p.Versions, version.Version)
	}
	return err
}

// readSchema finds out which values the form asks for: those of the chosen version, else of the version that it is pinned
// to, else of the app's current version. The current version's differ from the app's own if it does not compile.
func (v *visit) readSchema(p *Placed) error {
	wanted := []string{p.PinnedTo()}
	if v.request.PostForm.Has("version") {
		wanted = []string{v.line("version"), p.PinnedTo()}
	}
	for _, text := range wanted {
		if text == "" && p.Current() == 0 {
			break
		}
		n, err := number(cmp.Or(text, strconv.FormatInt(p.Current(), 10))) // without a version, it follows the app
		if err != nil {
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
	app, err := v.organization.GetApp(v.ctx(), p.AppID)
	p.schema = app.ConfigSchema
	return err
}

// previewPlacement shows the page with a preview of the typed values, and does not save them.
func previewPlacement(v *visit) (next, error) {
	shown, err := v.placing()
	if err != nil {
		return next{}, err
	}
	draft := client.PreviewDraft{URL: v.line("page")}
	if draft.URL == "" {
		draft.URL = v.console.BaseURL + "/sites/" + shown.Site.Token + "/try"
	}
	var refused faults
	draft.Version, draft.Config = v.version(&refused), v.values(shown.Values, &refused)
	if err = refused.err(); err == nil {
		err = v.unsaved(shown)
	}
	if err != nil {
		return next{}, err
	}
	made, err := v.organization.PreviewApp(v.ctx(), shown.Site.ID, shown.AppID, draft)
	if err != nil {
		return next{}, asField(err, "url", "page")
	}
	shown.sent, shown.Preview = v.request.PostForm, made.ExpiresAt
	if v.line("page") == "" {
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

// placementPatch returns the edits of an app on a site.
func (v *visit) placementPatch(values []schemaField) (client.PlacementPatch, error) {
	var refused faults
	patch := client.PlacementPatch{Enabled: v.editedBox("enabled"), Reason: v.line("reason")}
	if patch.Reason != "" && v.line("enabled") != "" {
		refused.add("reason", "Untick “Runs on this site”, or leave this empty: it is the reason for switching the app off.")
	}
	if text := v.edited("paths"); text != nil {
		patch.Paths = lines(*text)
	}
	if v.edited("version") != nil {
		if patch.Version = client.Null(); v.line("version") != "" {
			patch.Version = json.RawMessage(strconv.FormatInt(v.version(&refused), 10))
		}
	}
	if text := v.edited("position"); text != nil {
		n, err := strconv.ParseInt(*text, 10, 64)
		if err != nil {
			refused.add("position", "Must be a whole number.")
		}
		patch.Position = &n
	}
	var edited []schemaField
	for _, s := range values {
		if name := "config." + s.Key; v.typed(name) != v.typed(was(name)) { // white space counts
			edited = append(edited, s)
		}
	}
	patch.Config = v.values(edited, &refused)
	return patch, refused.err()
}

// version returns the version that the form chooses; 0: it follows the app.
func (v *visit) version(refused *faults) int64 {
	text := v.line("version")
	n, err := number(text)
	if err != nil && text != "" {
		refused.add("version", "Must be the number of a version, or empty to follow the app.")
	}
	return n
}

// values returns the values in the form.
func (v *visit) values(of []schemaField, refused *faults) map[string]json.RawMessage {
	config := map[string]json.RawMessage{}
	for _, s := range of {
		name := "config." + s.Key
		if s.Key == "" || !v.request.PostForm.Has(name) { // the form was for another version
			continue
		}
		config[s.Key] = s.read(v.typed(name), refused)
	}
	return config
}

// unmatched returns the values that were typed into fields that the form no longer has, by their keys.
func (v *visit) unmatched(p Placed) (all []field) {
	var stored map[string]json.RawMessage
	_ = json.Unmarshal(p.Config, &stored) // without values there are none
	known := p.known()
	for _, f := range fieldsOf(v.request.PostForm) {
		key, ok := strings.CutPrefix(f.Name, "config.")
		_, has := known[key]
		if text := v.edited(f.Name); ok && !has && text != nil && *text != asTyped(stored[key]) && *text != string(stored[key]) {
			all = append(all, field{line(key), f.Value})
		}
	}
	return all
}

// unsaved refuses to lose values: their fields are gone, or the version that was chosen with them lacks these fields. The
// page then shows the version that they were typed for.
func (v *visit) unsaved(p Placed) error {
	lost := v.unmatched(p)
	if lost == nil {
		return nil
	}
	keys := make([]string, len(lost))
	for i, f := range lost {
		keys[i] = f.Name
	}
	names := strings.Join(keys, ", ")
	switch {
	case v.edited("version") != nil:
		v.request.PostForm.Set("version", v.typed(was("version")))
		return wrong("version", "The one that you chose does not have "+names+", which you changed: save that first, and then choose it.")
	case !p.Shared:
		return wrong("", "What you typed for "+names+" cannot be saved: the app is no longer shared.")
	}
	return wrong("", "What you typed for "+names+" cannot be saved: the fields of the app have changed since this page was opened.")
}

func savePlacement(v *visit) (next, error) {
	before, err := v.placing()
	if err != nil {
		return next{}, err
	}
	patch, err := v.placementPatch(before.Values)
	if err == nil {
		err = v.unsaved(before)
	}
	if err != nil {
		return next{}, err
	}
	placed, err := v.organization.UpdatePlacement(v.ctx(), before.Site.ID, before.AppID, patch)
	how := "%s " + state(placed) + " on %s now."
	if !before.Enabled && !placed.Enabled {
		how = "%s is changed, but still off on %s: tick “Runs on this site” to run it."
	}
	return next{flash: sentence(how, called(placed.Name, placed.AppID), before.Site.Name)}, err
}

// state describes the state of an app on a site, within a sentence.
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
	return next{path: sitePage(v.home, site.ID), flash: sentence("%s is taken off %s: its values are deleted.", called(placed.Name, appID), site.Name)}, err
}
