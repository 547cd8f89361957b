package upstream_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"foyer/internal/fault"
	"foyer/internal/upstream"
	"foyer/internal/upstream/egress"
	"foyer/internal/upstream/upstreamtest"
)

func newCatalog(source string) *upstream.Catalog {
	return upstream.NewCatalog(source, egress.New(upstreamtest.Allow()), slog.New(slog.DiscardHandler))
}

func TestDefaultCatalog(t *testing.T) {
	t.Parallel()
	entries, err := newCatalog("").Entries(t.Context())
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d entries, error %v", len(entries), err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if _, err := e.Remote(); err != nil || e.Description == "" || seen[e.Key()] {
			t.Errorf("entry %+v: %v", e, err)
		}
		seen[e.Key()] = true
	}
}

func TestRealCatalog(t *testing.T) {
	t.Parallel()
	entries, err := newCatalog("testdata/catalog.json").Entries(t.Context())
	if err != nil || len(entries) != 70 {
		t.Fatalf("%d entries, error %v; want 70", len(entries), err)
	}
	keys, packages := map[string]bool{}, 0
	for _, e := range entries {
		keys[e.Key()] = true
		if _, err := e.Remote(); err != nil {
			wantFault(t, err, fault.Invalid, "url", "npm package")
			packages++
		}
	}
	if len(keys) != 69 || packages != 2 {
		t.Errorf("%d distinct urls and %d npm packages; want 69 and 2", len(keys), packages)
	}
}

func TestCatalogFromFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "catalog.json")
	catalog := newCatalog(file)
	_, err := catalog.Entries(t.Context())
	wantFault(t, err, fault.UpstreamUnavailable, "", "catalog")

	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"name": "A", "url": "https://example.org/a", "more": 1}, 7, {"name": "no url"}, {"name": 1, "url": "x"}]`)
	entries, err := catalog.Entries(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Name != "A" {
		t.Errorf("entries %v, error %v", entries, err)
	}
	write(`{}`)
	if err := catalog.Refresh(t.Context()); err == nil {
		t.Error("an object was taken for a catalog")
	}
	if entries, err := catalog.Entries(t.Context()); err != nil || len(entries) != 1 {
		t.Errorf("the last good copy is gone: %v, %v", entries, err)
	}
}

func TestCatalogFromHTTPS(t *testing.T) {
	t.Parallel()
	var asked, unchanged atomic.Int32
	var down atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case down.Load():
			w.WriteHeader(http.StatusBadGateway)
		case r.Header.Get("If-None-Match") == `"one"`:
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"one"`)
			_, _ = w.Write([]byte(`[{"name": "A", "url": "https://example.org/a"}]`))
		}
	}))
	t.Cleanup(server.Close)
	catalog := newCatalog(server.URL)
	good := func() {
		t.Helper()
		if entries, err := catalog.Entries(t.Context()); err != nil || len(entries) != 1 {
			t.Errorf("entries %v, error %v", entries, err)
		}
	}
	good()
	good()
	if n := asked.Load(); n != 1 {
		t.Errorf("two reads made %d requests", n)
	}
	if err := catalog.Refresh(t.Context()); err != nil || unchanged.Load() != 1 {
		t.Errorf("refresh: error %v, %d answers without content", err, unchanged.Load())
	}
	good()
	down.Store(true)
	var f *fault.Error
	if err := catalog.Refresh(t.Context()); !errors.As(err, &f) || f.Kind != fault.UpstreamUnavailable {
		t.Errorf("refresh of a source that is down: %v", err)
	}
	good()
}
