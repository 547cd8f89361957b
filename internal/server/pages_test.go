package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/server"
)

// shop is a website with the element of one of foyer's sites, seen in a browser.
type shop struct {
	*running
	site client.Site
	url  string
	csp  string          // the policy of its page
	tab  context.Context //nolint:containedctx // chromedp keeps the tab in it
	saw  chan string     // what pages report
	back chan struct{}   // lets the browser go back from the other page
}

// open makes a site on a server, and a website that is shown in a browser's tab.
func open(tab context.Context, t *testing.T, s *running) *shop {
	t.Helper()
	shop := &shop{running: s, tab: tab, saw: make(chan string, 10), back: make(chan struct{})}
	shop.csp = "default-src 'none'; script-src 'nonce-once' 'strict-dynamic'; connect-src 'self' " + s.URL
	pages := httptest.NewServer(shop)
	t.Cleanup(pages.Close)
	shop.url = strings.Replace(pages.URL, "127.0.0.1", "localhost", 1) // another site than the server's
	shop.site = must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop at " + shop.url)}))(t)
	return shop
}

// ServeHTTP serves the page, and another page to wait on before going back.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/saw":
		s.saw <- r.URL.Query().Get("what")
	case "/wait":
		s.saw <- "elsewhere"
		<-s.back
	case "/elsewhere":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><title>elsewhere</title><script>fetch("/wait").then(() => history.back())</script>`)
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", s.csp)
		fmt.Fprintf(w, pageOfShop, strings.Replace(s.site.Snippet, "<script", `<script nonce="once"`, 1))
	default:
		http.NotFound(w, r)
	}
}

// pageOfShop reports what it has seen, once the apps have run, and again when an app is removed. With #leave, the
// browser then leaves the page for a while, which seems a minute to it. A second of its timers takes a minute: on a busy
// machine, no app is too late for its place in the order.
const pageOfShop = `<!doctype html>
<title>A page</title>
<body>
<script nonce="once">
	const log = [], clock = Date.now, timer = setTimeout
	let away = 0
	Date.now = () => clock() + away
	window.setTimeout = (then, ms) => timer(then, 60 * ms)
	let said
	const say = (when) => {
		const what = encodeURIComponent(when + ": " + log.join())
		return said = Promise.resolve(said).then(() => fetch("/saw?what=" + what))
	}
	addEventListener("error", (e) => log.push("error " + e.message))
	addEventListener("error", (e) => e.target.src?.endsWith("/loader.js") && say("no loader"), true)
	addEventListener("unhandledrejection", (e) => log.push("error " + e.reason))
	addEventListener("securitypolicyviolation", (e) => log.push("violation " + e.violatedDirective + " " + e.blockedURI))
	addEventListener("pageshow", (e) => e.persisted && log.push("back"))
	const ready = new Promise((done) => addEventListener("foyer:ready", done))
	const loaded = new Promise((done) => addEventListener("load", done))
	Promise.all([ready, loaded]).then(() => setTimeout(async () => {
		await say(window.foyer.revision ? "ready" : "no list")
		if (location.hash !== "#leave" || !log.length) return
		away = 60e3
		location.href = "/elsewhere"
	}))
</script>
%s`

// sees loads the page, and compares its reports. On a busy machine, the loader or its list may be late: then it loads the
// page once more.
func (s *shop) sees(t *testing.T, at string, want ...string) {
	t.Helper()
	var got string
	until(t, func() bool {
		// The browser would not load a url that differs only in its hash.
		check(t, chromedp.Do(s.tab, chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+"/"+at)))
		got = s.report(t)
		t.Logf("the page says %q", got)
		return got != "no loader: " && got != "no list: "
	})
	if got != want[0] {
		t.Errorf("the page says %q, want %q", got, want[0])
	}
	s.says(t, want[1:]...)
}

func (s *shop) says(t *testing.T, want ...string) {
	t.Helper()
	for _, want := range want {
		if got := s.report(t); got != want {
			t.Errorf("the page says %q, want %q", got, want)
		}
	}
}

// report returns what the page reports next.
func (s *shop) report(t *testing.T) string {
	t.Helper()
	select {
	case got := <-s.saw:
		return got
	case <-time.After(patience):
		t.Fatal("the page reports nothing")
		return ""
	}
}

// app places an app whose site.ts is text.
func (s *shop) app(t *testing.T, text string) client.AppSource {
	t.Helper()
	app := s.withSite(t, text)
	must(s.PlaceApp(t.Context(), s.site.ID, client.PlacementDraft{AppID: app.ID}))(t)
	return app
}

// logging returns an app that logs that it runs.
func logging(name string) string {
	return "declare const log: string[]\nexport function inject() { log.push('" + name + "') }\n"
}

// newTab returns a tab of a browser that is started for the test.
func newTab(t *testing.T) context.Context {
	t.Helper()
	folder := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience),
		chromedp.UserDataDir(folder), chromedp.Env("TMPDIR="+folder))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	tab, stop = context.WithTimeout(tab, 5*time.Minute)
	t.Cleanup(stop)
	return tab
}

// These tests run pages with a real server and a real browser, which opens them one after another.
func TestPages(t *testing.T) { //nolint:tparallel // see above
	t.Parallel()
	tab := newTab(t)
	t.Run("SixApps", func(t *testing.T) { testSixApps(tab, t) })
	t.Run("PublicApps", func(t *testing.T) { testPublicApps(tab, t) })
	t.Run("TryPage", func(t *testing.T) { testTryPage(tab, t) })
	t.Run("Switches", func(t *testing.T) { testSwitches(tab, t) })
	t.Run("Preview", func(t *testing.T) { testPreview(tab, t) })
	t.Run("Stopped", func(t *testing.T) { testStopped(tab, t) })
}

// Six apps run by one element with a strict policy, in their order, even if some of them fail.
func testSixApps(tab context.Context, t *testing.T) {
	s := open(tab, t, start(t, config.Config{}))
	s.app(t, logging("one"))
	s.app(t, "declare const log: string[]\nexport function inject() { log.push('throws'); throw new Error('not this one') }")
	s.app(t, "declare const log: string[]\nexport async function inject() { log.push('never'); await new Promise(() => {}) }")
	s.app(t, "declare const log: string[]\nlog.push('module')")
	s.app(t, "declare const log: string[]\nexport const inject = async () => { log.push('async') }")
	s.app(t, `declare const log: string[], say: (id: string) => void, window: any
		export function inject({ foyer }: { foyer: { site: string } }) {
			log.push(window.foyer.site === foyer.site ? 'last' : 'wrong')
			setTimeout(() => say('all'))
		}`)
	s.sees(t, "", "all: one,throws,never,module,async,last")
}

// An app that is switched off in any way is gone from a page that is loaded later, even if the browser has cached
// everything, and from a page that the back button restores.
func testSwitches(tab context.Context, t *testing.T) {
	cfg := onDisk(t)
	s := open(tab, t, start(t, cfg))
	app := s.app(t, "export const old = 1")
	now := "declare const log: string[], say: (id: string) => void\nexport const inject = () => { log.push('app'); return () => { log.push('undone'); say('undone') } }"
	must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": &now}}))(t)
	must(s.UpdatePlacement(t.Context(), s.site.ID, app.ID, client.PlacementPatch{Version: []byte("2")}))(t)
	ctx := t.Context()
	for _, c := range []struct {
		name string
		set  func(on bool) error
	}{
		{"placement", func(on bool) error {
			_, err := s.UpdatePlacement(ctx, s.site.ID, app.ID, client.PlacementPatch{Enabled: &on})
			return err
		}},
		{"site", func(on bool) error {
			_, err := s.UpdateSite(ctx, s.site.ID, client.SitePatch{Enabled: &on})
			return err
		}},
		{"version", func(on bool) (err error) {
			if on {
				_, err = s.RestoreVersion(ctx, app.ID, 2)
			} else {
				_, err = s.WithdrawVersion(ctx, app.ID, 2, client.Withdrawal{Reason: "broken", Version: 1})
			}
			return err
		}},
		{"app", func(on bool) (err error) {
			if on {
				_, err = s.EnableApp(ctx, app.ID)
			} else {
				_, err = s.DisableApp(ctx, app.ID, "broken")
			}
			return err
		}},
		{"organization", func(on bool) error {
			to := access.NoApps
			if on {
				to = access.RootApps
			}
			return suspend(ctx, cfg, to)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.sees(t, "#leave", "ready: app", "elsewhere")
			s.on(t, c.set, false)
			s.back <- struct{}{}
			s.says(t, "undone: app,back,undone")
			s.sees(t, "", "ready: ")
			s.on(t, c.set, true)
			s.sees(t, "", "ready: app")
		})
	}
}

// on switches something on or off, and waits until the server's manifests have the change.
func (s *shop) on(t *testing.T, set func(bool) error, on bool) {
	t.Helper()
	check(t, set(on))
	until(t, func() bool {
		return on != strings.Contains(browse(t, http.MethodGet, s.URL+"/sites/"+s.site.Token+"/manifest.json", nil).body, `"apps":[]`)
	})
}

// suspend sets the access level of the organization, by a command beside the server.
func suspend(ctx context.Context, cfg config.Config, to access.AppAccess) error {
	d, err := server.Open(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := d.Organizations.List(ctx)
	if err != nil {
		return err
	}
	_, err = d.Organizations.Set(ctx, access.Caller{}, all[0].ID, org.Settings{AppAccess: &to})
	return err
}

// A preview shows in the tab that has opened its link, on the next page too, and in no other tab.
func testPreview(tab context.Context, t *testing.T) {
	s := open(tab, t, start(t, config.Config{}))
	app := s.app(t, logging("one"))
	must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": new(logging("two"))}}))(t)
	other, closeTab := chromedp.NewContext(tab)
	defer closeTab()
	made := must(s.PreviewApp(t.Context(), s.site.ID, app.ID, client.PreviewDraft{URL: s.url + "/", Version: 1}))(t)
	s.sees(t, strings.TrimPrefix(made.URL, s.url+"/"), "ready: one")
	s.sees(t, "", "ready: one")
	elsewhere := *s
	elsewhere.tab = other
	elsewhere.sees(t, "", "ready: two")
}

// A page that was loaded before runs its apps while the server is stopped, even after a reload.
func testStopped(tab context.Context, t *testing.T) {
	var s *shop
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.ServeHTTP(w, r) }))
	defer pages.Close()
	t.Run("before", func(t *testing.T) {
		s = open(tab, t, start(t, config.Config{}))
		s.url = strings.Replace(pages.URL, "127.0.0.1", "localhost", 1)
		s.app(t, logging("one"))
		s.app(t, logging("two"))
		s.sees(t, "", "ready: one,two")
	})
	s.sees(t, "", "ready: one,two")
	check(t, chromedp.Do(tab, chromedp.Reload()))
	s.says(t, "ready: one,two")
}
