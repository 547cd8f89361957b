package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
)

// banner makes an app whose values are those of a config_schema.
func banner(t *testing.T, s *running, schema string) client.App {
	t.Helper()
	return must(s.CreateApp(t.Context(), client.AppDraft{
		PluginType: client.PluginSource, Name: "Banner", Source: client.Files{"site.ts": "export function inject() {}"}, ConfigSchema: []byte(schema),
	}))(t)
}

// place makes a site named Shop with an app, and returns its id and the page of the placement.
func place(t *testing.T, s *running, app int64) (site int64, page string) {
	t.Helper()
	shop := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
	must(s.PlaceApp(t.Context(), shop.ID, client.PlacementDraft{AppID: app}))(t)
	return shop.ID, "/console/@current/sites/" + itoa(shop.ID) + "/apps/" + itoa(app)
}

// After placing an app on a site, the console says whether it runs there and if not, why.
func TestConsolePlacesWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		disabled, runs := s.withSite(t, "export const a = 1"), s.withSite(t, "export const a = 1")
		v.want(200, "There are no sites yet.", v.get("/console/@current/apps/"+itoa(runs.ID)+"/place"))
		on := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("On")}))(t)
		off := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Off")}))(t)
		must(s.UpdateSite(t.Context(), off.ID, client.SitePatch{Enabled: new(false)}))(t)
		must(s.DisableApp(t.Context(), disabled.ID, "It leaks."))(t)
		empty := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))(t)
		v.want(200, "There are no versions yet.", v.get("/console/@current/apps/"+itoa(empty.ID)+"/versions"))
		for _, tc := range []struct {
			app, site int64
			why       string
		}{
			{empty.ID, on.ID, "has no"}, {disabled.ID, on.ID, "disabled"}, {runs.ID, off.ID, "The site is off: its pages run no app."},
		} {
			placed := v.post("/console/@current/apps/"+itoa(tc.app)+"/place", "do", "place", "site", itoa(tc.site))
			v.want(200, "Mine is on the site, but does not run.", placed)
			v.want(200, `<div class="alert"><p>`, placed)
			v.want(200, tc.why, placed)
		}
		v.want(200, "Mine is on the site, and runs.", v.post("/console/@current/sites/"+itoa(on.ID), "do", "place", "app", itoa(runs.ID)))
	})
}

// A value can be removed if it holds an app and pages do not get it any more.
func TestConsoleTakesAwayWhatHolds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		for _, schema := range []string{`[{"key":"a","name":"Its A","type":"string","site":true,"secret":true}]`, `[{"key":"a","name":"Its A","type":"number"}]`} {
			app := banner(t, s, `[{"key":"a","type":"string","site":true}]`)
			site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop of " + itoa(app.ID))}))(t)
			must(s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: client.PlacementPatch{Config: map[string]json.RawMessage{"a": []byte(`"x"`)}}}))(t)
			must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(schema)}))(t)
			v := visit(t, s, s.key)
			page := "/console/@current/sites/" + itoa(site.ID) + "/apps/" + itoa(app.ID)
			held := v.get(page)
			v.want(200, "Its A</label>", held)
			v.want(200, `<span class="fault" id="fault-config.a">`, held)
			must(s.UpdatePlacement(t.Context(), site.ID, app.ID, client.PlacementPatch{Enabled: new(false)}))(t)
			refused := v.post(page, v.get(page).fill(t, "save", "enabled", "on")...) // an app that is off is not held
			v.want(400, `<span class="fault" id="fault-config.a">`, refused)
			saved := v.post(page, refused.fill(t, "save", "config.a", "")...)
			v.want(200, "Banner runs version 2 on Shop of "+itoa(app.ID)+" now.", saved)
			v.lacks(200, "Its A</label>", saved)
		}
	})
}

// A value is not lost silently if the version chosen in the same form lacks its field.
func TestConsolePinsWithoutLosingValues(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := banner(t, s, `[{"key":"a","type":"string","site":true}]`)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(`[{"key":"a","type":"string","site":true},{"key":"b","type":"string","site":true}]`)}))(t)
		site, page := place(t, s, app.ID)
		v := visit(t, s, s.key)
		for _, do := range []string{"save", "preview"} {
			refused := v.post(page, v.get(page).fill(t, do, "config.a", "x", "config.b", "y", "version", "1")...)
			v.want(400, "Version: The one that you chose does not have b", refused)
			v.want(400, `name="config.b" value="y"`, refused)
			v.want(200, "Banner runs version 2 on Shop now.", v.post(page, refused.fill(t, "save")...))
			must(s.UpdatePlacement(t.Context(), site, app.ID, client.PlacementPatch{Config: map[string]json.RawMessage{"b": client.Null()}}))(t)
		}
		v.want(200, "Banner runs version 1 on Shop now.", v.post(page, v.get(page).fill(t, "save", "config.a", "x", "version", "1")...))
	})
}

// A value that is no longer among the choices stays until it is edited, so a version that needs another value is held.
func TestConsoleKeepsLostChoices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := banner(t, s, `[{"key":"color","type":"choice","choices":["red","blue",""],"default":"blue","site":true},{"key":"sure","type":"string","site":true}]`)
		lost := map[string]string{`"red"`: "red", `""`: `""`} // in the API, and as shown
		sites := map[string]int64{}
		for color := range lost {
			sites[color] = must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop " + color)}))(t).ID
			must(s.PlaceApp(t.Context(), sites[color], client.PlacementDraft{AppID: app.ID, PlacementPatch: client.PlacementPatch{
				Config: map[string]json.RawMessage{"color": json.RawMessage(color), "sure": json.RawMessage(`"maybe"`)},
			}}))(t)
		}
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(
			`[{"key":"color","type":"choice","choices":["green","blue"],"default":"blue","site":true},{"key":"sure","type":"boolean","site":true}]`)}))(t)
		v := visit(t, s, s.key)
		for color, text := range lost {
			placed := "/console/@current/sites/" + itoa(sites[color]) + "/apps/" + itoa(app.ID)
			page := v.get(placed)
			v.want(200, `<option value="`+color+`" selected>`+text+`, not available</option>`, page)
			v.want(200, `<option value=""maybe"" selected>maybe, not available</option>`, page)
			v.want(200, "Banner is held at version 1 on Shop ", v.post(placed, page.fill(t, "save", "paths", "/shop/**")...))
			if p := must(s.GetPlacement(t.Context(), sites[color], app.ID))(t); string(p.Config) != `{"color":`+color+`,"sure":"maybe"}` {
				t.Errorf("another edit made the values %s", p.Config)
			}
			v.want(400, "color: Must be one of: ", v.post(placed, page.fill(t, "preview")...))
			v.want(200, "Banner runs version 2 on Shop ", v.post(placed, v.get(placed).fill(t, "save", "config.color", `"green"`, "config.sure", "")...))
			v.lacks(200, "not available", v.get(placed))
		}
	})
}

// A value that is typed as JSON is shown as JSON: what is shown can be sent, and a text looks different from a number.
func TestConsoleShowsJSON(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := banner(t, s, `[{"key":"any","type":"json","site":true},{"key":"size","type":"string","site":true}]`)
		site, page := place(t, s, app.ID)
		must(s.UpdatePlacement(t.Context(), site, app.ID, client.PlacementPatch{Config: map[string]json.RawMessage{"any": []byte(`"x"`), "size": []byte(`"5"`)}}))(t)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(`[{"key":"any","type":"json","site":true},{"key":"size","type":"number","site":true}]`)}))(t)
		v := visit(t, s, s.key)
		shown := v.get(page)
		v.want(200, "\n\"x\"</textarea>", shown)
		v.want(200, `name="config.size" value=""5""`, shown)
		v.want(400, "any: Must be JSON, with no name twice in an object.", v.post(page, shown.fill(t, "save", "config.any", `{"a":1,"a":2}`, "config.size", "5")...))
		v.want(200, "Banner runs version 2 on Shop now.", v.post(page, shown.fill(t, "save", "config.any", `"x y"`, "config.size", "5")...))
		if p := must(s.GetPlacement(t.Context(), site, app.ID))(t); string(p.Config) != `{"any":"x y","size":5}` {
			t.Errorf("saved as %s", p.Config)
		}
	})
}

// A value for a field that is gone when the form is sent is refused with the reason, and shown for copying.
func TestConsoleKeepsValuesOfLostFields(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url}
		s := start(t, cfg)
		app := banner(t, s, `[{"key":"welcome","type":"textarea","site":true},{"key":"n","type":"string","site":true}]`)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(true)}))(t)
		elsewhere := s.as(t, ownerElsewhere(t, cfg))
		v, theirs := visit(t, s, s.key), visit(t, s, elsewhere.key)
		var pages []string
		for _, of := range []*running{s, elsewhere} {
			_, page := place(t, of, app.ID)
			pages = append(pages, page)
		}
		keeps := func(got shown, why string) {
			t.Helper()
			v.want(400, "What you typed for welcome cannot be saved: "+why, got)
			v.want(400, "<summary>What you typed</summary>", got)
			v.want(400, "<label>welcome <textarea rows=\"4\" readonly spellcheck=\"false\">\nA long <b>\r\ntext</textarea>", got)
		}
		opened, open := v.get(pages[0]), theirs.get(pages[1])
		typed := []string{"config.welcome", "A long <b>\r\ntext", "config.n", "nn"}
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(`[{"key":"greeting","type":"textarea","site":true},{"key":"n","type":"string","site":true}]`)}))(t)
		for _, do := range []string{"save", "preview"} {
			refused := v.post(pages[0], opened.fill(t, do, typed...)...)
			keeps(refused, "the fields of the app have changed since this page was opened.")
			v.want(400, `name="config.n" value="nn"`, refused)
		}
		other := v.post(pages[0], opened.fill(t, "save", append(typed, "position", "x")...)...)
		v.want(400, "Must be a whole number", other)
		v.want(400, "<summary>What you typed</summary>", other)
		v.want(200, "Banner runs version 2 on Shop now.", v.post(pages[0], other.fill(t, "save", "position", "1")...))

		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(false)}))(t)
		keeps(theirs.post(pages[1], open.fill(t, "save", typed[:2]...)...), "the app is no longer shared.")
	})
}

// A placement that is pinned to a version from before the app was shared can keep it: the form has that version until
// another one is saved.
func TestConsolePinnedBeforeSharing(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url}
		s := start(t, cfg)
		app := banner(t, s, "null")
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(true)}))(t)
		elsewhere := s.as(t, ownerElsewhere(t, cfg))
		_, page := place(t, elsewhere, app.ID)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(`[{"key":"n","type":"string","site":true}]`)}))(t)
		v := visit(t, s, elsewhere.key)
		pinned := v.get(page)
		v.want(200, `<option value="1" selected>pinned to 1</option>`, pinned)
		v.want(200, `<option value="1">pinned to 1</option>`, v.post(page, pinned.fill(t, "preview", "version", "2")...))
		v.want(200, "Banner runs version 2 on Shop now.", v.post(page, pinned.fill(t, "save", "version", "2")...))
		v.lacks(200, "pinned to 1", v.get(page))
	})
}

// The page of an app links to all sites that have it.
func TestConsoleManySitesOfAnApp(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "export const a = 1")
	for i := range 51 {
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop " + itoa(int64(i)))}))(t)
		must(s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID}))(t)
	}
	v := visit(t, s, s.key)
	page := "/console/@current/apps/" + itoa(app.ID)
	first := v.get(page)
	v.want(200, "1 to 50 of 51", first)
	last := v.get(page + "?offset=50")
	v.want(200, "51 to 51 of 51", last)
	if !strings.Contains(first.body+last.body, "<bdi>Shop 0</bdi>") || !strings.Contains(first.body+last.body, "<bdi>Shop 50</bdi>") {
		t.Error("a site is on no page")
	}
}

// The form for an app that does not compile has the fields that its pages get, those of the bundle that still runs.
func TestConsolePlacementOfWhatDoesNotCompile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner", Source: client.Files{
			"site.ts": "export function inject() {}", "plugin.json": `{"config": [{"key": "old", "type": "string", "site": true}]}`,
		}}))(t)
		_, page := place(t, s, app.ID)
		must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{
			"site.ts": new("export function inject() {"), "plugin.json": new(`{"config": [{"key": "new", "type": "string", "site": true}]}`),
		}}))(t)
		v := visit(t, s, s.key)
		v.want(200, "Banner runs version 2 on Shop now.", v.post(page, v.get(page).fill(t, "save", "config.old", "x")...))
		v.want(200, `name="config.old" value="x"`, v.get(page))
	})
}

// The note beside the try page lists the paths as they are, and does not invert excluded ones.
func TestConsolePlacementTellsItsPaths(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := s.withSite(t, site)
		shop := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
		must(s.PlaceApp(t.Context(), shop.ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: client.PlacementPatch{Paths: []string{"!/checkout"}}}))(t)
		v := visit(t, s, s.key)
		for _, page := range []string{"/apps/" + itoa(app.ID), "/sites/" + itoa(shop.ID) + "/apps/" + itoa(app.ID)} {
			v.want(200, "Its paths are <code>!/checkout</code>: they may leave out the try page.", v.get("/console/@current"+page))
		}
	})
}

// Each line of the form is one path, with any characters that the API accepts.
func TestConsoleKeepsSpacesInPaths(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := s.withSite(t, site)
		shop := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
		paths := []string{"/our /offers/**", "!/our /offers/old", "/株式　会社"}
		must(s.PlaceApp(t.Context(), shop.ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: client.PlacementPatch{Paths: paths}}))(t)
		v := visit(t, s, s.key)
		page := "/console/@current/sites/" + itoa(shop.ID) + "/apps/" + itoa(app.ID)
		v.want(200, "Mine runs version 1 on Shop now.", v.post(page, v.get(page).fill(t, "save", "paths", strings.Join(paths, "\r\n")+"\r\n\r\n  /new ")...))
		if p := must(s.GetPlacement(t.Context(), shop.ID, app.ID))(t); !slices.Equal(p.Paths, append(paths, "/new")) {
			t.Errorf("the paths are %q", p.Paths)
		}
	})
}
