package server_test

import (
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
)

// A site is made, gets an app and values, and is switched off, all by its pages.
func TestConsoleSites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		const sites = "/console/@current/sites"
		v.want(400, "That did not work.", v.post(sites, "do", "create", "name", "Shop", "origins", "shop.example.com"))
		made := v.post(sites, "do", "create", "name", "Shop", "origins", "https://shop.example.com\nhttps://www.shop.example.com")
		v.want(200, "Copy its element into your pages", made)
		site := regexp.MustCompile(`/sites/\d+`).FindString(v.get(sites).body)
		v.want(200, "https://www.shop.example.com</textarea>", v.get("/console/@current"+site))
		v.want(200, `/loader.js"></script>`, v.get("/console/@current"+site))

		app := itoa(must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner"}))(t).ID)
		v.post("/console/@current/apps/"+app+"/source", "do", "save", "filename", "plugin.json", "text",
			`{"name":"Banner","config":[{"key":"text","name":"Its text","type":"string","site":true,"required":true},{"key":"token","type":"string","secret":true,"site":true}]}`)
		v.post("/console/@current/apps/"+app+"/source", "do", "save", "filename", "site.ts", "text", "export function inject() {}")
		v.want(200, "give it the values that it needs, and tick “Runs on this site”.", v.post("/console/@current"+site, "do", "place", "app", app))
		v.want(200, `<span class="tag">off</span>`, v.get("/console/@current"+site))
		placed := "/console/@current" + site + "/apps/" + app
		shown := v.get(placed)
		v.want(200, `name="config.text"`, shown)
		v.lacks(200, "config.token", shown)
		v.want(200, "Banner is changed, but still off on Shop: tick “Runs on this site” to run it.", v.post(placed, "do", "save", "config.text", "Hi"))
		v.want(200, "Banner runs version 2 on Shop now.", v.post(placed, "do", "save", "enabled", "on", "position", "1", "config.text", "Hello <b>", "paths", "/shop/**"))
		v.want(200, `value="Hello <b>"`, v.get(placed))
		v.want(200, "version 2", v.get("/console/@current"+site))
		v.want(400, "Must be a whole number", v.post(placed, "do", "save", "position", "first"))
		v.want(400, "Must be the number of a version", v.post(placed, "do", "save", "version", "x"))

		page := "/console/@current/apps/" + app
		v.want(200, site+"/apps/"+app, v.get(page))
		v.want(200, `value="disable"`, v.get(page))
		v.want(400, "Reason", v.post(page, "do", "disable", "reason", ""))
		disabled := v.post(page, "do", "disable", "reason", "broken <b>")
		v.want(200, "broken <b>", disabled)
		v.lacks(200, `value="disable"`, disabled)
		v.want(200, "does not run", v.get("/console/@current"+site))
		v.want(200, "Banner is enabled.", v.post(page, "do", "enable"))

		v.want(400, `<a href="#reason">Reason: Must be at most 500 characters`, v.post("/console/@current"+site, "do", "switch", "reason", strings.Repeat("x", 501)))
		v.want(200, "Shop is off", v.post("/console/@current"+site, "do", "switch", "reason", "The cart is hidden."))
		v.want(200, "The cart is hidden.", v.get("/console/@current/audit"))
		v.want(200, "The site is off: its pages run no app.", v.get(page))
		v.want(200, "Shop is on", v.post("/console/@current"+site, "do", "switch", "on", "on"))
		v.want(200, "Shop is off", v.post("/console/@current"+site, "do", "switch", "reason", ""))
		v.want(200, "Shop is on", v.post("/console/@current"+site, "do", "switch", "on", "on"))
		on := v.get(placed)
		v.want(400, `<a href="#reason">Reason: Untick “Runs on this site”`, v.post(placed, on.fill(t, "save", "reason", "It blinks.")...))
		v.want(200, "Banner is off on Shop now.", v.post(placed, on.fill(t, "save", "reason", "It blinks.", "enabled", "")...))
		v.want(200, "It blinks.", v.get("/console/@current/audit"))
		v.lacks(200, `name="reason"`, v.get(placed))
		v.want(200, "Banner is taken off Shop: its values are deleted.", v.post(placed, "do", "remove"))
		v.want(404, "Not found", v.get(placed))
		v.want(200, "Shop is deleted.", v.post("/console/@current"+site, "do", "delete"))
		other := visit(t, s, join(t, s))
		other.lacks(200, `value="create"`, other.get(sites))
	})
}

// A message about what was done is shown once, with the right names, and never because a url says so.
func TestConsoleSaysOnce(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	const said = `</svg><span>Shop <b>& "co"</b> is created. Copy its element`
	made := v.post("/console/@current/sites", "do", "create", "name", `Shop <b>& "co"</b>`)
	v.want(200, said, made)
	v.lacks(200, `role="status"`, v.get(made.path))
	for _, cookie := range []string{"x", "gICA", "!", ""} { // gICA: not UTF-8
		v.lacks(200, `role="status"`, v.send("GET", made.path+"?flash=saved", "", "Cookie", "foyer-flash="+cookie))
	}
}

// A site's apps are moved, previewed and restored, and their health is shown, by its pages.
func TestConsoleSitesOverTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		var ids []int64
		for _, name := range []string{"Banner", "Chat"} {
			app := must(s.CreateApp(t.Context(), client.AppDraft{
				PluginType: client.PluginSource, Name: name, Source: client.Files{
					"plugin.json": `{"name":"` + name + `","config":[{"name":"What visitors see"},{"key":"text","type":"string","default":"none","site":true}]}`,
					"site.ts":     "export function inject() {}",
				},
			}))(t)
			ids = append(ids, app.ID)
		}
		made := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop"), Origins: []string{"https://shop.example.com"}}))(t)
		site := "/console/@current/sites/" + itoa(made.ID)
		for _, id := range ids {
			must(s.PlaceApp(t.Context(), made.ID, client.PlacementDraft{AppID: id}))(t)
		}
		v := visit(t, s, s.key)
		v.want(200, "Chat is now at position 1.", v.post(site, "do", "move", "up", itoa(ids[1])))
		v.want(200, "Chat is now at position 1.", v.post(site, "do", "move", "up", itoa(ids[1])))
		v.want(200, "Chat is now at position 2.", v.post(site, "do", "move", "down", itoa(ids[1])))
		v.want(404, "It is gone", v.post(site, "do", "move", "down", "99"))
		v.want(400, `<a href="#app">App: The app is on this site already.`, v.post(site, "do", "place", "app", itoa(ids[0])))
		v.want(400, `<a href="#site">Site: The app is on this site already.`, v.post("/console/@current/apps/"+itoa(ids[0])+"/place", "do", "place", "site", itoa(made.ID)))

		placed := site + "/apps/" + itoa(ids[0])
		v.want(200, "<h3>What visitors see</h3>", v.get(placed))
		form := []string{"do", "preview", "enabled", "on", "config.text", "Hello", "page"}
		beside := v.post(placed, append(form, "")...)
		v.want(200, `value="Hello"`, beside)
		v.want(200, `id="preview" tabindex="-1" autofocus>Preview`, beside)
		frame := regexp.MustCompile(`<iframe class="preview" src="([^"]*)" sandbox="allow-scripts allow-forms"`).FindStringSubmatch(beside.body)
		if frame == nil || !strings.Contains(frame[1], "foyer_preview=") {
			t.Fatalf("no frame with a preview:\n%s", beside.body)
		}
		if try := v.send("GET", html.UnescapeString(frame[1]), ""); try.status != 200 || !strings.HasPrefix(try.header.Get("Content-Security-Policy"), "sandbox allow-scripts allow-forms;") {
			t.Errorf("%d %v", try.status, try.header)
		}
		v.want(200, `href="https://shop.example.com/a?foyer_preview=`, v.post(placed, append(form, "https://shop.example.com/a")...))
		elsewhere := v.post(placed, append(form, "https://evil.example/")...)
		v.want(400, `id="page" name="page" value="https://evil.example/"`, elsewhere)
		v.want(400, "Address of the page: The page must be the site's try page, or on one of its origins: https://shop.example.com.", elsewhere)
		if p := must(s.GetPlacement(t.Context(), made.ID, ids[0]))(t); string(p.Config) != "{}" {
			t.Errorf("a preview was saved: %s", p.Config)
		}

		v.want(200, "Banner runs version 1 on Shop now.", v.post(placed, "do", "save", "enabled", "on", "config.text", "Hi", "paths", "/a"))
		history := v.get(site + "/history")
		v.want(200, "Banner: values changed.", history)
		v.want(200, "Banner: paths changed.", history)
		v.want(200, "Banner started, version 1.", history)
		v.want(200, "The order changed.", history)
		v.want(200, "Shop is as it was at revision 2 again.", v.post(site+"/history", "do", "restore", "revision", "2"))
		v.want(200, "Chat stopped.", v.get(site+"/history"))
		v.want(404, "It is gone", v.post(site+"/history", "do", "restore", "revision", "99"))
		v.want(200, "No page has sent a report. If a site has origins", v.get(site+"/health?days=7"))
	})
}

// An arrow makes an app and its neighbour swap places, whatever their positions are. Pages get the old order or the new
// one, and no other.
func TestConsoleMovesOneApp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
		names := map[int64]string{}
		var ids []int64
		for _, name := range []string{"A", "B", "C", "D"} {
			app := must(s.CreateApp(t.Context(), client.AppDraft{
				PluginType: client.PluginSource, Name: name, Source: client.Files{"site.ts": "export function inject() {}"},
			}))(t)
			must(s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID}))(t)
			ids, names[app.ID] = append(ids, app.ID), name
		}
		v := visit(t, s, s.key)
		for _, tc := range []struct {
			positions [4]int64 // of A to D
			move, way string
			want      string
			changes   int // of positions
		}{
			{[4]int64{1, 2, 3, 4}, "A", "down", "BACD", 2},
			{[4]int64{2, 3, 4, 5}, "D", "up", "ABDC", 2},
			{[4]int64{1, 2, 3, 4}, "A", "up", "ABCD", 0},
			{[4]int64{1, 2, 3, 4}, "D", "down", "ABCD", 0},
			{[4]int64{3, 3, 3, 3}, "A", "down", "BACD", 3},
			{[4]int64{3, 3, 3, 3}, "C", "up", "ACBD", 2},
			{[4]int64{3, 2, 2, 2}, "B", "down", "CBDA", 3},
			{[4]int64{3, 3, 5, 5}, "C", "up", "ACBD", 2},
			{[4]int64{5, 1, 1, 5}, "A", "up", "BACD", 2},
			{[4]int64{5, 3, 3, 1}, "B", "up", "BDCA", 3},
			{[4]int64{-3, -3, -3, 999_999_999_999_999}, "D", "up", "ABDC", 2},
		} {
			for i, id := range ids {
				must(s.UpdatePlacement(t.Context(), site.ID, id, client.PlacementPatch{Position: &tc.positions[i]}))(t)
			}
			app := ids[strings.Index("ABCD", tc.move)]
			old := must(s.GetSite(t.Context(), site.ID))(t)
			v.want(200, tc.move+" is now at position "+itoa(int64(strings.Index(tc.want, tc.move)+1)), v.post("/console/@current/sites/"+itoa(site.ID), "do", "move", tc.way, itoa(app)))
			var order []string
			changes := 0
			for _, p := range must(s.ListPlacements(t.Context(), site.ID, client.Range{}))(t).Results {
				order = append(order, names[p.AppID])
				if p.Position != tc.positions[slices.Index(ids, p.AppID)] {
					changes++
				}
			}
			revisions := must(s.GetSite(t.Context(), site.ID))(t).Revision - old.Revision
			if got := strings.Join(order, ""); got != tc.want || changes != tc.changes || revisions > 1 {
				t.Errorf("%v, %s %s: %s, want %s; %d positions changed, want %d; %d revisions", tc.positions, tc.move, tc.way, got, tc.want, changes, tc.changes, revisions)
			}
		}
	})
}

// Saving a form as it was shown changes no value, even if the form cannot express all of it.
func TestConsoleKeepsValues(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := banner(t, s, `[{"markdown":"Texts, see [the guide](https://x.example)"},{"key":"text","type":"string","site":true},{"key":"none","type":"string","default":"some","site":true},{"key":"n","type":"choice","choices":[1,"1"],"site":true},{"key":"of two","type":"number","site":true},{"key":"return","type":"string","site":true}]`)
	made := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
	const given = `{"n":1,"none":"","return":"a\rb","text":"a\r\n<b>\n"}`
	var values map[string]json.RawMessage
	check(t, json.Unmarshal([]byte(given), &values))
	must(s.PlaceApp(t.Context(), made.ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: client.PlacementPatch{Config: values}}))(t)
	v := visit(t, s, s.key)
	placed := "/console/@current/sites/" + itoa(made.ID) + "/apps/" + itoa(app.ID)
	page := v.get(placed)
	v.want(200, `<p>Texts, see <a href="https://x.example" rel="nofollow noopener noreferrer">the guide</a></p>`, page)
	v.want(200, "a\r\n<b>\n</textarea>", page) // otherwise a browser would remove a line
	v.want(200, "a\rb</textarea>", page)       // in a line, a browser would remove it
	v.want(200, `<option value="1" selected>1</option>`, page)
	save := func(n string) string {
		v.want(200, "Banner runs version 1 on Shop now.", v.post(placed, "do", "save", "enabled", "on", "config.text", "a\r\n<b>\r\n", "config.none", "", "config.n", n))
		return string(must(s.GetPlacement(t.Context(), made.ID, app.ID))(t).Config)
	}
	if got := save("1"); got != given {
		t.Errorf("config is %s, was %s", got, given)
	}
	if got := save(`"1"`); got != strings.Replace(given, ":1", `:"1"`, 1) {
		t.Errorf("another choice: %s", got)
	}
	member := visit(t, s, join(t, s))
	member.want(200, "<dt>n</dt><dd>1</dd>", member.get(placed))
	long := strings.Repeat("ж", 20_000) // 120 KB in a form
	v.want(200, "Banner runs version 1 on Shop now.", v.post(placed, "do", "save", "enabled", "on", "config.text", long))
	if got := must(s.GetPlacement(t.Context(), made.ID, app.ID))(t); !strings.Contains(string(got.Config), long) {
		t.Errorf("a long text is not saved: %.100s", got.Config)
	}
	gone := "/console/@current/sites/" + itoa(made.ID) + "/apps/99"
	v.want(404, "It is gone", v.post(gone, "do", "save", "config.text", long))
	kept := v.post(gone, "do", "save", "config.text", "Hello\r\n<b>", "config.n", "7", "was.config.n", "7", "position", "1", "was.position", "1")
	v.want(404, "<label>text <textarea rows=\"4\" readonly spellcheck=\"false\">\nHello\r\n<b></textarea>", kept)
	if strings.Count(kept.body, "<textarea") != 1 {
		t.Errorf("shows what nobody typed:\n%s", kept.body)
	}
	wrong := v.post(placed, "do", "save", "config.n", "one")
	v.want(400, `">n: Must be one of the choices.</a></li>`, wrong)
	v.want(400, `id="fault-config.n">Must be one of the choices.</span>`, wrong)
	wrong = v.post(placed, "do", "save", "config.of two", "1,5")
	v.want(400, `aria-describedby="fault-config.of%20two"`, wrong)
	v.want(400, `id="fault-config.of%20two">Must be a number such as 1.5.</span>`, wrong)
}

// The form of a pinned app has the fields of that version, before and after it is sent. The form of an app that is no
// longer shared still works.
func TestConsolePinned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := banner(t, s, `[{"key":"old","type":"number","site":true},{"key":"both","type":"string","site":true}]`)
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
		pinned := client.PlacementPatch{Version: json.RawMessage("1"), Config: map[string]json.RawMessage{"old": json.RawMessage("1")}}
		must(s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: pinned}))(t)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{
			ConfigSchema: []byte(`[{"key":"new","type":"string","site":true,"required":true},{"key":"both","type":"string","site":true}]`),
		}))(t)
		config := func(want string) {
			t.Helper()
			if p := must(s.GetPlacement(t.Context(), site.ID, app.ID))(t); string(p.Config) != want {
				t.Errorf("config %s, want %s", p.Config, want)
			}
		}
		v := visit(t, s, s.key)
		placed := "/console/@current/sites/" + itoa(site.ID) + "/apps/" + itoa(app.ID)
		shows := func(a shown, status int, part, not string) {
			t.Helper()
			v.want(status, part, a)
			v.lacks(status, not, a)
		}
		const explained = "These are the values of version 1, not of the version that the app is at."
		shows(v.get(placed), 200, explained, "config.new")
		v.want(200, `<option value="">the current one: 2</option><option value="2">pinned to 2</option><option value="1" selected>pinned to 1</option>`, v.get(placed))
		opened := v.get(placed)
		form := func(old, version string) []string {
			return opened.fill(t, "save", "config.both", "Hello", "config.old", old, "version", version)
		}
		shows(v.post(placed, form("x", "1")...), 400, explained, "config.new")
		v.want(400, `name="config.old" value="x"`, v.post(placed, form("x", "1")...))
		v.want(200, "Banner runs version 1 on Shop now.", v.post(placed, form("2", "1")...))
		config(`{"both":"Hello","old":2}`)

		// If another version is typed, the form gets its fields, and does not send those that it lacks.
		refused := v.post(placed, form("2", "")...)
		shows(refused, 400, `name="config.new" value="" placeholder="" aria-invalid="true"`, "config.old")
		v.want(200, "Banner runs version 2 on Shop now.", v.post(placed, refused.fill(t, "save", "config.new", "x")...))
		config(`{"both":"Hello","new":"x","old":2}`)
		shows(v.get(placed), 200, "config.new", "These are the values of version")
		shows(v.post(placed, "do", "save", "enabled", "on", "version", "9"), 400, "The app has no such version", "config.old")

		// An app with wrong values can still be switched off.
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: []byte(`[{"key":"new","type":"number","site":true}]`)}))(t)
		v.want(200, "Banner is held at version 2 on Shop now.", v.post(placed, v.get(placed).fill(t, "save", "paths", "/a")...))
		held := v.get(placed)
		v.want(200, "Version 3 waits for values that it needs. Until then, version 2 runs.", held)
		v.want(200, `aria-invalid="true" aria-describedby="fault-config.new"`, held)
		v.want(200, `id="fault-config.new">Must be a number.</span>`, held)
		v.want(200, "Banner is off on Shop now.", v.post(placed, held.fill(t, "save", "enabled", "")...))
	})
}

// A main that makes no bundle gets a warning on the page of the app and on that of the file.
func TestConsoleWarns(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Idle", Source: client.Files{"plugin.json": `{"main":"app.js"}`}}))(t)
	v := visit(t, s, s.key)
	for _, path := range []string{"", "/source?file=plugin.json"} {
		v.want(200, `"main" names "app.js", which makes no bundle`, v.get("/console/@current/apps/"+itoa(app.ID)+path))
	}
}

// An app that is no longer shared can be removed from a site.
func TestConsoleNotShared(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url}
		s := start(t, cfg)
		app := s.withSite(t, "export const n = 1")
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(true)}))(t)
		elsewhere := s.as(t, ownerElsewhere(t, cfg))
		site := must(elsewhere.CreateSite(t.Context(), client.SitePatch{Name: new("Theirs")}))(t)
		must(elsewhere.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID}))(t)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(false)}))(t)
		v := visit(t, s, elsewhere.key)
		placed := "/console/@current/sites/" + itoa(site.ID) + "/apps/" + itoa(app.ID)
		v.want(200, "no longer shared", v.get(placed))
		v.want(200, `aria-label="Move App `+itoa(app.ID)+` up"`, v.get("/console/@current/sites/"+itoa(site.ID)))
		v.lacks(200, `value="preview"`, v.get(placed))
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(true)}))(t)
		v.want(200, `<option value="">the current one: 1</option>`, v.get(placed))
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(false)}))(t)
		v.want(200, "App "+itoa(app.ID)+" is off on Theirs now.", v.post(placed, v.get(placed).fill(t, "save", "enabled", "")...))
		v.want(200, "App "+itoa(app.ID)+" is taken off Theirs", v.post(placed, "do", "remove"))
	})
}

// A version is withdrawn with a reason, and restored.
func TestConsoleWithdraws(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner", Source: client.Files{"site.ts": "export const a = 1"}}))(t)
		text := "export const a = 2"
		must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": &text}}))(t)
		v := visit(t, s, s.key)
		version := "/console/@current/apps/" + itoa(app.ID) + "/versions/2"
		v.want(200, "Open a version to roll back or change to it", v.get("/console/@current/apps/"+itoa(app.ID)))
		v.want(200, "Open a version to roll back or change to it", v.get("/console/@current/apps/"+itoa(app.ID)+"/versions"))
		v.want(400, `name="version" aria-invalid`, v.post(version, "do", "withdraw", "reason", "leaks"))
		v.want(400, `name="reason" aria-invalid`, v.post(version, "do", "withdraw", "reason", "", "version", "1"))
		withdrawn := v.post(version, "do", "withdraw", "reason", "It <b>leaks</b>", "version", "1")
		v.want(200, "Version 2 is withdrawn", withdrawn)
		v.want(200, "It <b>leaks</b>", withdrawn)
		v.want(200, `</svg>withdrawn</span>`, v.get("/console/@current/apps/"+itoa(app.ID)))
		v.want(200, "Version 2 is restored.", v.post(version, "do", "unwithdraw"))
		v.want(200, "Banner is now at version 2.", v.post(version, "do", "return"))
	})
}

// An app can be placed on a site that has many, and on the one of many sites that does not have it.
func TestConsolePlacesTheLast(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	first := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Bulk")}))(t).ID
	var apps, sites []int64
	for i := range 51 {
		apps = append(apps, must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginLocal, Name: "Bulk " + itoa(int64(i))}))(t).ID)
		sites = append(sites, must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Bulk " + itoa(int64(i)))}))(t).ID)
		must(s.PlaceApp(t.Context(), first, client.PlacementDraft{AppID: apps[i]}))(t)
		must(s.PlaceApp(t.Context(), sites[i], client.PlacementDraft{AppID: apps[0]}))(t)
	}
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginLocal, Name: "Bulk zz"}))(t)
	site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Bulk zz")}))(t)
	v := visit(t, s, s.key)
	for _, query := range []string{"", "?find=Bulk", "?offset=50"} {
		page := v.get("/console/@current/sites/" + itoa(first) + query)
		if strings.Count(page.body, "<option") != 1 || !strings.Contains(page.body, `<option value="`+itoa(app.ID)+`">Bulk zz</option>`) {
			t.Errorf("%s offers another: %s", query, page.body)
		}
	}
	v.want(200, `<span>1 to 50 of 51</span>
<a href="/console/@current/sites/`+itoa(first)+`?offset=50">Next</a>`, v.get("/console/@current/sites/"+itoa(first)))
	v.want(200, "51 to 51 of 51", v.get("/console/@current/sites/"+itoa(first)+"?offset=50"))
	page := v.get("/console/@current/apps/" + itoa(apps[0]) + "/place?find=Bulk")
	if strings.Count(page.body, "<option") != 1 || !strings.Contains(page.body, `<option value="`+itoa(site.ID)+`">Bulk zz</option>`) {
		t.Errorf("another is offered: %s", page.body)
	}
}

// Apps of one name are told apart by their numbers where one is chosen for a site.
func TestConsoleTellsAppsApart(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
	v := visit(t, s, s.key)
	for _, name := range []string{"Banner", "Banner", "Chat"} {
		must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginLocal, Name: name}))(t)
	}
	v.want(200, `<option value="1">Banner (1)</option><option value="2">Banner (2)</option><option value="3">Chat</option>`, v.get("/console/@current/sites/"+itoa(site.ID)))
}
