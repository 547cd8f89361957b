package server_test

import (
	"regexp"
	"strings"
	"testing"

	"foyer/internal/config"
)

// A site is made, gets an app, values, and is switched off, all by its pages.
func TestConsoleSites(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		const sites = "/console/@current/sites"
		v.want(400, "That did not work.", v.post(sites, "do", "create", "name", "Shop", "origins", "shop.example.com"))
		made := v.post(sites, "do", "create", "name", "Shop", "origins", "https://shop.example.com\nhttps://www.shop.example.com")
		v.want(200, "Put its element into your pages", made)
		site := regexp.MustCompile(`/sites/\d+`).FindString(v.get(sites).body)
		v.want(200, "https://www.shop.example.com</textarea>", v.get("/console/@current"+site))
		v.want(200, `/loader.js"></script>`, v.get("/console/@current"+site))

		created := v.post("/console/@current/apps/new", "do", "source", "name", "Banner")
		app := regexp.MustCompile(`/apps/(\d+)/source`).FindStringSubmatch(created.body)[1]
		v.post("/console/@current/apps/"+app+"/source", "do", "save", "file", "plugin.json", "filename", "plugin.json", "text",
			`{"name":"Banner","config":[{"key":"text","name":"Its text","type":"string","site":true,"required":true},{"key":"token","type":"string","secret":true,"site":true}]}`)
		v.post("/console/@current/apps/"+app+"/source", "do", "save", "file", "site.ts", "filename", "site.ts", "text", "export function inject() {}")
		v.want(200, "give it the values that it needs", v.post("/console/@current"+site, "do", "place", "app", app))
		v.want(200, `<span class="tag">off</span>`, v.get("/console/@current"+site))
		placed := "/console/@current" + site + "/apps/" + app
		shown := v.get(placed)
		v.want(200, `name="config.text"`, shown)
		if strings.Contains(shown.body, "config.token") {
			t.Error("a secret is asked for, which no page can keep")
		}
		v.want(200, "Banner runs version 2 on Shop now.", v.post(placed, "do", "save", "enabled", "on", "position", "1", "config.text", "Hello <b>", "paths", "/shop/**"))
		v.want(200, `value="Hello <b>"`, v.get(placed))
		v.want(200, "version 2", v.get("/console/@current"+site))
		v.want(400, "Must be a whole number", v.post(placed, "do", "save", "position", "first"))
		v.want(400, "Must be the number of a version", v.post(placed, "do", "save", "version", "x"))

		page := "/console/@current/apps/" + app
		v.want(200, site+"/apps/"+app, v.get(page))
		v.want(400, "Reason", v.post(page, "do", "disable", "reason", ""))
		v.want(200, "broken <b>", v.post(page, "do", "disable", "reason", "broken <b>"))
		v.want(200, "does not run", v.get("/console/@current"+site))
		v.want(200, "Banner is enabled.", v.post(page, "do", "enable"))

		v.want(200, "Shop is off", v.post("/console/@current"+site, "do", "switch"))
		v.want(200, "Shop is on", v.post("/console/@current"+site, "do", "switch", "on", "on"))
		v.want(200, "Banner is off Shop.", v.post(placed, "do", "remove"))
		v.want(404, "Not found", v.get(placed))
		v.want(200, "Shop is deleted.", v.post("/console/@current"+site, "do", "delete"))
		other := visit(t, s, join(t, s))
		if body := other.get(sites).body; strings.Contains(body, `value="create"`) {
			t.Error("a member is offered to make a site")
		}
	})
}

// What was done is said once, by its names, and never because an address says so.
func TestConsoleSaysOnce(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	const said = `role="status">Shop <b>& "co"</b> is there. Put its element`
	made := v.post("/console/@current/sites", "do", "create", "name", `Shop <b>& "co"</b>`)
	v.want(200, said, made)
	if again := v.get(made.path); strings.Contains(again.body, `role="status"`) {
		t.Errorf("said twice:\n%s", again.body)
	}
	for _, cookie := range []string{"x", "gICA", "!", ""} { // gICA: no UTF-8
		if got := v.send("GET", made.path+"?said=saved", "", "Cookie", "foyer-said="+cookie); strings.Contains(got.body, `role="status"`) {
			t.Errorf("%q: %s", cookie, got.body)
		}
	}
}
