package server_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
)

// withSite makes an app with a version for each text of its site.ts.
func (s *running) withSite(t *testing.T, texts ...string) (app client.AppSource) {
	t.Helper()
	app.App = must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))(t)
	for _, text := range texts {
		app = must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: client.FileEdits{"site.ts": &text}}))(t)
	}
	return app
}

// siteURL returns the url of an app's current bundle.
func siteURL(app client.AppSource) string {
	return app.Bundle.URL[:strings.LastIndex(app.Bundle.URL, "/")] + "/site.js"
}

func TestServeBundle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := s.withSite(t, site)
		exact := browse(t, http.MethodGet, app.Bundle.URL, nil)
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin":  "*",
			"Cache-Control":                "public, max-age=31536000, immutable",
			"Content-Type":                 "text/javascript; charset=utf-8",
			"Cross-Origin-Resource-Policy": "cross-origin",
			"Vary":                         "Accept-Encoding",
			"X-Content-Type-Options":       "nosniff",
		} {
			if got := exact.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if now := browse(t, http.MethodHead, app.Bundle.URL+"?now", nil); now.status != http.StatusOK || now.header.Get("Cache-Control") != "public, max-age=10" {
			t.Errorf("with a query: %+v", now)
		}
		sum := sha512.Sum384([]byte(exact.body))
		if want := "sha384-" + base64.StdEncoding.EncodeToString(sum[:]); app.Bundle.Integrity != want || app.Bundle.Size != int64(len(exact.body)) {
			t.Errorf("bundle %+v, want %s and %d bytes", app.Bundle, want, len(exact.body))
		}
		if strings.Contains(exact.body, "sourceMappingURL") {
			t.Error("a source map")
		}
		plain := http.Header{"Accept-Encoding": {"identity"}}
		current := browse(t, http.MethodGet, siteURL(app), plain)
		if current.body != exact.body || current.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("site.js: %+v", current)
		}
		again := browse(t, http.MethodGet, siteURL(app), http.Header{"Accept-Encoding": {"identity"}, "If-None-Match": {current.header.Get("ETag")}})
		if again.status != http.StatusNotModified || again.body != "" || again.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("asked again: %+v", again)
		}
		head := browse(t, http.MethodHead, siteURL(app), plain)
		if head.status != http.StatusOK || head.body != "" || head.header.Get("Content-Length") != strconv.Itoa(len(exact.body)) {
			t.Errorf("HEAD: %+v", head)
		}
		packed := browse(t, http.MethodGet, siteURL(app), http.Header{"Accept-Encoding": {"br, gzip;q=0.5"}})
		unpacked, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil || packed.header.Get("Content-Encoding") != "gzip" || packed.header.Get("ETag") == current.header.Get("ETag") {
			t.Fatalf("gzip: %+v %v", packed, err)
		}
		if js, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(js, []byte(exact.body)) {
			t.Errorf("gzip: %s %v", js, err)
		}
		changed := must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": new("export const n = 2")}}))(t)
		if got := browse(t, http.MethodGet, siteURL(app), plain); got.header.Get("ETag") == current.header.Get("ETag") || siteURL(changed) != siteURL(app) {
			t.Errorf("after a change: %+v", got)
		}
		if got := browse(t, http.MethodGet, app.Bundle.URL, plain); got.body != exact.body {
			t.Errorf("the old one: %+v", got)
		}
		for _, path := range []string{"/apps/x/site.js", "/apps/x/" + strings.Repeat("0", 64) + ".js"} {
			if got := browse(t, http.MethodGet, s.URL+path, nil); got.status != http.StatusNotFound || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %+v", path, got)
			}
		}
		for _, file := range []string{strings.Repeat("0", 64) + ".js", "site.ts", "site", ".js"} {
			if got := browse(t, http.MethodGet, strings.Replace(siteURL(app), "site.js", file, 1), nil); got.status != http.StatusNotFound {
				t.Errorf("%s: %+v", file, got)
			}
		}
		if got := browse(t, http.MethodPost, siteURL(app), nil); got.status != http.StatusMethodNotAllowed {
			t.Errorf("POST: %+v", got)
		}
		check(t, s.DeleteApp(t.Context(), app.ID))
		if got := browse(t, http.MethodGet, app.Bundle.URL, nil); got.status != http.StatusNotFound {
			t.Errorf("of a deleted app: %+v", got)
		}
	})
}

// A change on one server is visible on another within two seconds.
func TestServeWhatAnotherServerChanged(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url, DataDir: t.TempDir()}
		one := start(t, cfg)
		cfg.Bootstrap.Key = one.key
		other := start(t, cfg)
		app := one.withSite(t, "export const n = 1")
		there := strings.Replace(siteURL(app), one.URL, other.URL, 1)
		first := browse(t, http.MethodGet, there, nil)
		must(one.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": new("export const n = 2")}}))(t)
		until(t, func() bool { return browse(t, http.MethodGet, there, nil).body != first.body })
	})
}

// patience is how long a test waits for an event: several browsers at once on a busy machine take more than half a
// minute to start.
const patience = 2 * time.Minute

// until waits until holds returns true.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	late := time.After(patience)
	for tick := time.Tick(20 * time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-late:
			t.Fatal("waited in vain")
		}
	}
}

// Loading a bundle counts as a use, and the next server knows that too.
func TestUse(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url, DataDir: t.TempDir()}
		unused := func(s *running) client.AppPage[client.UnusedApp] {
			t.Helper()
			return must(s.ListUnusedApps(t.Context(), client.Range{}))(t)
		}
		var idle client.App
		t.Run("first", func(t *testing.T) {
			s := start(t, cfg)
			cfg.Bootstrap.Key = s.key
			used, other := s.withSite(t, site), s.withSite(t, "export const n = 1")
			if page := unused(s); page.Count != 2 {
				t.Errorf("unused: %+v", page)
			}
			browse(t, http.MethodGet, siteURL(used), nil)
			idle = other.App
		})
		t.Run("next", func(t *testing.T) {
			if page := unused(start(t, cfg)); page.Count != 1 || page.Results[0].ID != idle.ID || page.Results[0].LastUsedAt != nil {
				t.Errorf("unused: %+v", page)
			}
		})
	})
}

// A page of another origin loads a bundle with its integrity, and runs it.
func TestBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "import { twice } from './lib'\nexport const inject = (n: number) => twice(n)\n")
	if app.Bundle != nil {
		t.Fatal("it imports what is not there")
	}
	app = must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"lib.ts": new("export const twice = (n: number) => 2 * n")}}))(t)
	page := func(integrity string) string {
		return fmt.Sprintf(`<!doctype html><title>page</title><body>
			<script>const say = text => document.body.appendChild(document.createElement('p')).textContent = text</script>
			<script type="module" crossorigin="anonymous" src="%s" integrity="%s" onerror="say('refused')"></script>
			<script type="module">import { inject } from %q; say('ran ' + inject(21))</script>`, app.Bundle.URL, integrity, app.Bundle.URL)
	}
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		integrity := app.Bundle.Integrity
		if r.URL.Path == "/wrong" {
			integrity = "sha384-" + base64.StdEncoding.EncodeToString(make([]byte, 48))
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page(integrity))
	}))
	defer pages.Close()
	tab := newTab(t)
	for path, want := range map[string]string{"/": "ran 42", "/wrong": "refused"} {
		must(chromedp.Run(tab, chromedp.Navigate(strings.Replace(pages.URL, "127.0.0.1", "localhost", 1)+path)))(t)
		// Poll would fail if chromedp does not yet know that the page before this one is gone.
		got, err := chromedp.Run(tab, chromedp.Text(chromedp.CSS("p")))
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", path, got, err, want)
		}
	}
}
