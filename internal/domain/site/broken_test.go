package site

import (
	"strconv"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
)

// A version that does not compile keeps the bundle of the one before and the fields that this bundle reads: pages get
// an admin's values as before, until a version compiles.
func TestFollowWhatDoesNotCompile(t *testing.T) {
	const (
		reads     = `export function inject({config}) { document.title = config.`
		broken    = reads + `message`
		text      = `{"name": "app", "config": [{"key": "text", "type": "string", "default": "Hello", "site": true}]}`
		message   = `{"name": "app", "config": [{"key": "message", "type": "string", "default": "Hi", "site": true}]}`
		declared  = `[{"key":"message","type":"string","default":"Hi","site":true}]`
		byBundle  = `app@2{"text":"Sale"}`
		corrected = `app@3{"message":"Hi"}`
	)
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		p, err := r.plugins.Create(r.Context(), r.caller, plugin.Draft{Name: patch.Of("app")})
		if err != nil {
			r.Fatal(err)
		}
		save := func(manifest, site string) plugin.Sources {
			r.Helper()
			saved, err := r.plugins.UpdateSource(r.Context(), r.caller, p.ID, plugin.Draft{}, []source.Edit{
				{Field: "source", Name: "plugin.json", Text: patch.Of(manifest)}, {Field: "source", Name: "site.ts", Text: patch.Of(site)},
			})
			if err != nil {
				r.Fatal(err)
			}
			return saved
		}
		goTo := func(version string) plugin.Plugin {
			r.Helper()
			there, err := r.plugins.Upgrade(r.Context(), r.caller, p.ID, plugin.Move{Version: patch.Of(version)})
			if err != nil {
				r.Fatal(err)
			}
			return there
		}
		save(text, reads+"text }")
		r.place(r.caller, s, p, "text", `"Sale"`)
		if saved := save(message, broken); saved.ConfigSchema != declared {
			r.Errorf("the app has %s", saved.ConfigSchema)
		}
		r.wants("does not compile", s, byBundle)
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(`[{"key": "other", "type": "string", "site": true, "required": true}]`)})
		r.wants("its fields are changed", s, byBundle)
		goTo("1")
		if back := goTo("2"); back.ConfigSchema != declared {
			r.Errorf("back at what does not compile, the app has %s", back.ConfigSchema)
		}
		r.wants("back at what does not compile", s, byBundle)
		r.change(r.caller, s, p, PlacementDraft{Config: given("text", `"New"`)})
		r.wants("the value is changed", s, `app@2{"text":"New"}`)
		save(message, broken+" }")
		r.wants("compiles", s, corrected)
	})
}

// An app can go back to an old version that only a site has kept. When the site releases it, the app still keeps it,
// even though there are enough newer versions for it to be removed.
func TestCurrentVersionIsNotRemoved(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "[]")
		edit := func(name, text string) {
			r.Helper()
			edit := source.Edit{Field: "source", Name: name, Text: patch.Of(text)}
			if _, err := r.plugins.UpdateSource(r.Context(), r.caller, p.ID, plugin.Draft{}, []source.Edit{edit}); err != nil {
				r.Fatal(err)
			}
		}
		edit("site.ts", "export function inject( {")
		r.place(r.caller, s, p)
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(2))})
		for i := range 101 {
			edit("note.md", strconv.Itoa(i))
		}
		if _, err := r.plugins.Upgrade(r.Context(), r.caller, p.ID, plugin.Move{Version: patch.Of("2")}); err != nil {
			r.Fatal(err)
		}
		if err := r.Remove(r.Context(), r.caller, s.ID, p.ID); err != nil {
			r.Fatal(err)
		}
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(`[{"key": "other"}]`)}) // makes no version, since the current one does not compile
		at, err := r.plugins.Source(r.Context(), r.caller, p.ID)
		if err != nil || len(at.Files) != 1 {
			r.Errorf("%d files, %v", len(at.Files), err)
		}
		edit("note.md", "the newest")
		if found, err := r.plugins.Versions(r.Context(), r.caller, p.ID, page.Page{Limit: 1000}); err != nil || found.Count != 100 || !found.Items[0].Current {
			r.Errorf("%d versions, %v", found.Count, err)
		}
	})
}
