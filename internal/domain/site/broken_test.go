package site

import (
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
)

// A version that does not compile goes on with the bundle of the one before, and with the fields that bundle reads: what an
// admin has set is sent as before, until a version compiles.
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
			saved, err := r.plugins.UpdateSource(r.Context(), r.caller, p.ID, plugin.Draft{}, []plugin.Edit{
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
