package server_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/base/inflight"
	"foyer/internal/config"
	"foyer/internal/domain/source"
	"foyer/internal/face/api"
	"foyer/internal/face/console"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream/upstreamtest"
)

const (
	maxAsks  = 4        // of a page to the API
	maxBytes = 60 << 10 // of a page with the inlined style and with its script, as sent; without the editor
)

// asked is the context key for how often the page of a request has asked the API.
type asked struct{}

// counting serves the console of a database. Once the server is closed, the returned function says how often a page of
// each pattern has asked the API at most. The console asks the mux it is registered with, which has the API of another
// mux.
func counting(t *testing.T, cfg config.Config) (url string, close func() map[string]int64) {
	t.Helper()
	log, d := slog.New(slog.DiscardHandler), openDomain(t, cfg)
	to, s := wire.NewMux(), httptest.NewUnstartedServer(nil)
	url = "http://" + s.Listener.Addr().String()
	behind := d.API(url, log)
	behind.InFlight = inflight.New(1 << 30)
	routes := behind.Handler(func(*wire.Mux) {})
	to.Handle("/api/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(asked{}).(*atomic.Int64).Add(1)
		routes.ServeHTTP(w, r)
	}))
	host := markup.Host{BaseURL: url, RequestID: api.RequestID, Report: behind.Report, Check: behind.CheckPeer, Limit: behind.LimitPeer, Address: behind.ClientAddress}
	(&console.Console{
		Host: host, Keys: d.Keys, LimitUser: behind.LimitUser, ByKey: true, SignIn: d.SignIn, Addresses: d.Addresses, TryKey: d.Sites.TryKey, Preview: d.Invites.Preview, ReviewInstall: d.Plugins.ReviewInstall, Compare: d.Plugins.Compare,
	}).Register(to)
	most := map[string]int64{}
	var one sync.Mutex
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n atomic.Int64
		seen := func(r *http.Request, _ api.Outcome) {
			one.Lock()
			defer one.Unlock()
			if r.Method == http.MethodGet {
				most[r.Pattern] = max(most[r.Pattern], n.Load())
			}
		}
		behind.Observe(to, seen).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), asked{}, &n)))
	})
	s.Start()
	t.Cleanup(s.Close)
	return url, func() map[string]int64 {
		s.Close()
		return most
	}
}

// furnishFully makes enough of everything for pages to show several of each.
func furnishFully(t *testing.T, s *running) {
	t.Helper()
	furnish(t, s)
	join(t, s)
	repo := upstreamtest.NewHost(t).Repo(t, "banner")
	tag := func(n int) string {
		name := fmt.Sprintf("v1.0.%d", n)
		repo.Tag(t, name, repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner"}`, "site.ts": "export function inject() { return " + strconv.Itoa(n) + " }\n"}))
		return name
	}
	app := must(s.CreateApp(t.Context(), custom(repo, tag(0))))(t)
	for n := range 12 {
		must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: client.FileEdits{"readme.md": new(strconv.Itoa(n))}}))(t)
	}
	tag(1)
	must(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{Version: new(int64(1))}))(t) // the current version is not among the newest
	if _, _, err := s.CheckForUpdates(t.Context(), app.ID); err != nil {
		t.Fatal(err)
	}
	sites := must(s.ListSites(t.Context(), client.SiteFilter{}, client.Range{}))(t)
	pinned := client.PlacementPatch{Version: []byte("2")}
	must(s.PlaceApp(t.Context(), sites.Results[0].ID, client.PlacementDraft{AppID: app.ID, PlacementPatch: pinned}))(t)
	for range 60 {
		made := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "An app with a name", Description: "And a line that says what it does."}))(t)
		must(s.PlaceApp(t.Context(), sites.Results[0].ID, client.PlacementDraft{AppID: made.ID}))(t)
	}
	hook := client.WebhookPatch{URL: new("https://hooks.acme.example/foyer"), Events: []string{"webhook.test"}}
	must(s.CreateWebhook(t.Context(), hook))(t)
}

// No page asks the API more than four times, however much there is to show, and no page is large.
func TestConsolePagesAreSmall(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		cfg := config.Config{Database: database, DataDir: t.TempDir(), Secret: "a secret that both have", InviteTTL: time.Hour, UpstreamAllow: upstreamtest.Allow()}
		s := start(t, cfg)
		furnishFully(t, s)
		url, asks := counting(t, cfg)
		s.URL = url
		v := visit(t, s, s.key)
		script := v.get(markup.Enhancements.Path).weight
		pages := v.wander("/console")
		for _, path := range []string{
			"/console/@current/search?q=a", "/console/@current/search?q=foy_", "/console/@current/apps/2/compare?version=9&against=2", "/console/invitations", "/console/@current/activity", "/console/a/b/c",
		} {
			pages[path] = v.get(path)
		}
		heaviest, heaviestPath := 0, ""
		for path, page := range pages {
			if !page.isPage() {
				continue
			}
			if weight := page.weight + script; weight > maxBytes {
				t.Errorf("%s: %d bytes", path, weight)
			} else if weight > heaviest {
				heaviest, heaviestPath = weight, path
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(pages)), func(path string) bool { return strings.HasSuffix(path, "/apps?state=update") }) {
			t.Error("the overview does not lead to the apps that can be upgraded")
		}
		most := asks()
		for pattern, n := range most {
			if n > maxAsks {
				t.Errorf("%s asks the API %d times", pattern, n)
			}
		}
		if len(most) < 39 {
			t.Errorf("only %d kinds of pages: %v", len(most), most)
		}
		t.Logf("%d pages of %d kinds; the heaviest, %s, has %d bytes", len(pages), len(most), heaviestPath, heaviest)
	})
}

// The pages of an app with the maximum number of files, and those of the documentation, are no larger than others.
func TestLargePagesAreSmall(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	files, edits := client.Files{"site.ts": "export function inject() {}\n"}, client.FileEdits{}
	for n := range source.MaxFiles - 2 {
		name := fmt.Sprintf("src/part%d/section%d/component-%03d.ts", n/40, n/10%4, n)
		for line := range 12 {
			files[name] += fmt.Sprintf("export const %x = 'line %d of component %d'\n", sha256.Sum224([]byte{byte(n), byte(n >> 8), byte(line)}), line, n)
		}
		edits[name] = new(strings.ReplaceAll(files[name], "component", "part"))
	}
	files["min.js"], edits["min.js"] = strings.Repeat("x", source.MaxFileBytes), new(strings.Repeat("y", source.MaxFileBytes))
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Large", Source: files}))(t)
	must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: edits}))(t)
	v := visit(t, s, s.key)
	script := v.get(markup.Enhancements.Path).weight
	var heaviest shown
	small := func(page shown, want string) {
		t.Helper()
		if page.weight > heaviest.weight {
			heaviest = page
		}
		if weight := page.weight + script; page.status != http.StatusOK || weight > maxBytes || !strings.Contains(page.body, want) {
			t.Errorf("%s: %d, %d bytes, with %s: %t", page.path, page.status, weight, want, strings.Contains(page.body, want))
		}
	}
	page := "/console/@current/apps/" + itoa(app.ID)
	small(v.get(page), "All 400 files")
	small(v.get(page+"/source"), "<details><summary>")
	small(v.get(page+"/source?file=src/part1/section1/component-050.ts"), "<details open><summary>")
	changed := v.get(page + "/versions/2")
	small(changed, "component-050.ts")
	one := regexp.MustCompile(`<a href="([^"]+component-397.ts)"`).FindStringSubmatch(changed.body)
	small(v.get(html.UnescapeString(one[1])), "line 11 of part 397")
	pages := v.wander("/docs")
	for _, page := range pages {
		small(page, "Search the documentation")
	}
	if len(pages) < 24 {
		t.Errorf("only %d pages of the documentation", len(pages))
	}
	t.Logf("the heaviest, %s, has %d bytes", heaviest.path, heaviest.weight)
}

// The next page is a page of the console, not one that ".." leads to from there.
func TestConsoleGoesOnWithin(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	for then, want := range map[string]string{
		"/console/keys?search=../x": "/console/keys?search=../x",
		"/console/../x":             "/console",
		"/console/%2e%2E/x":         "/console",
		"/console/keys/../../../x":  "/console",
		"/console/keys/..":          "/console",
		"/../console/keys":          "/console",
		"/docs":                     "/console",
		"//x.example/console/keys":  "/console",
	} {
		page := v.get("/console/invitations?" + url.Values{"then": {then}}.Encode())
		v.want(200, `<a href="`+want+`">Go on to the console`, page)
	}
	in := visit(t, s, "").post("/console/session", "key", s.key, "then", "/console/%2e./readyz")
	v.want(200, "overview", in)
}
