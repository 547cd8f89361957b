package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/upstreamtest"
)

func newCatalog(source string, c *clock) *upstream.Catalog {
	return upstream.NewCatalog(source, egress.New(upstreamtest.Allow()), slog.New(slog.DiscardHandler), c.now)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultCatalog(t *testing.T) {
	t.Parallel()
	entries, err := newCatalog("", newClock()).Entries(t.Context())
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d entries, error %v", len(entries), err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if _, err := e.Remote(); err != nil || !strings.Contains(e.Description, ". Needs ") || seen[e.Key()] {
			t.Errorf("entry %+v: %v", e, err)
		}
		seen[e.Key()] = true
	}
}

func TestRealCatalog(t *testing.T) {
	t.Parallel()
	entries, err := newCatalog("testdata/catalog.json", newClock()).Entries(t.Context())
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
	clock := newClock()
	catalog := newCatalog(file, clock)
	_, err := catalog.Entries(t.Context())
	wantFault(t, err, fault.UpstreamUnavailable, "", "catalog")

	write(t, file, `[{"name": "A", "url": "https://example.org/a", "more": 1}, 7, {"name": "no url"}, {"name": 1, "url": "x"}]`)
	clock.advance(10 * time.Second)
	entries, err := catalog.Entries(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Name != "A" {
		t.Errorf("entries %v, error %v", entries, err)
	}
	write(t, file, `[{"name": " Padded\n", "url": "\thttps://example.org/a "}, {"name": " ", "url": "https://example.org/b"}]`)
	if err := catalog.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err = catalog.Entries(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Name != "Padded" || entries[0].Key() != "https://example.org/a" {
		t.Errorf("entries %+v, error %v", entries, err)
	}
	for _, text := range []string{`{}`, `null`} {
		write(t, file, text)
		if err := catalog.Refresh(t.Context()); err == nil {
			t.Errorf("%s was taken for a catalog", text)
		}
	}
	if entries, err := catalog.Entries(t.Context()); err != nil || len(entries) != 1 {
		t.Errorf("the last good copy is gone: %v, %v", entries, err)
	}
}

// The log names unusable entries once, without their secrets.
func TestCatalogNamesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "catalog.json")
	var log bytes.Buffer
	catalog := upstream.NewCatalog(file, egress.New(nil), slog.New(slog.NewJSONHandler(&log, nil)), newClock().now)
	warned := func() []string {
		t.Helper()
		log.Reset()
		if err := catalog.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		var line struct {
			Some []string `json:"some"`
		}
		if log.Len() > 0 {
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, log.String())
			}
		}
		return line.Some
	}
	write(t, file, `[7, {"name": "A", "url": "https://joe:secret@example.org/a"}, {"name": "no url"}, {"name": "\u200b", "url": "https://example.org/b"},
		{"name": "C", "url": "ftp://joe:secret@x"}, {"name": "D\u0000", "url": "https://example.org/d"}]`)
	want := []string{
		`entry 1 (""): it is not an object of name, url, description and verified`,
		`entry 3 ("no url"): url: The url must start with https:// or http://.`,
		`entry 4 ("\u200b"): it has no name`,
		`entry 5 ("C"): url: The url must start with https:// or http://.`,
		`entry 6 ("D\x00"): its name is longer than 200 characters or has a NUL character`,
	}
	if got := warned(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if entries, err := catalog.Entries(t.Context()); err != nil || len(entries) != 1 || entries[0].Name != "A" || entries[0].URL != "https://example.org/a" {
		t.Errorf("entries %v, error %v", entries, err)
	}
	if got := warned(); got != nil {
		t.Errorf("said again: %q", got)
	}
	write(t, file, `[`+strings.Repeat(`{},`, 99)+`{}]`)
	if got := warned(); len(got) != 5 {
		t.Errorf("%d of 100 are named", len(got))
	}
}

// A 304 response is an error if there is no copy yet.
func TestCatalogUnchangedFromNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }))
	t.Cleanup(server.Close)
	_, err := newCatalog(server.URL, newClock()).Entries(t.Context())
	wantFault(t, err, fault.UpstreamUnavailable, "", "catalog")
}

// Before the first copy, the log does not mention a last one.
func TestCatalogThatCannotBeRefreshed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "catalog.json")
	log, w := io.Pipe()
	catalog := upstream.NewCatalog(file, egress.New(nil), slog.New(slog.NewJSONHandler(w, nil)), newClock().now)
	logged := func() string {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go catalog.Run(ctx)
		line, err := bufio.NewReader(log).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := logged(); !strings.Contains(got, `"msg":"catalog not read"`) {
		t.Error(got)
	}
	write(t, file, `[]`)
	if err := errors.Join(catalog.Refresh(t.Context()), os.Remove(file)); err != nil {
		t.Fatal(err)
	}
	if got := logged(); !strings.Contains(got, `"msg":"catalog not refreshed, keeping the last copy"`) {
		t.Error(got)
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
	catalog := newCatalog(server.URL, newClock())
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

// While there is no copy yet, a dead source is asked once for all callers, who need not wait for it, and then not again
// for a while.
func TestCatalogOfDeadSource(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	arrived, proceed := make(chan struct{}, 2), make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		arrived <- struct{}{}
		<-proceed
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	clock := newClock()
	catalog := newCatalog(server.URL, clock)
	answers := make(chan error, 5)
	for range cap(answers) {
		go func() {
			_, err := catalog.Entries(t.Context())
			answers <- err
		}()
	}
	<-arrived
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := catalog.Entries(impatient); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not wait got %v", err)
	}
	close(proceed)
	for range cap(answers) {
		wantFault(t, <-answers, fault.UpstreamUnavailable, "", "catalog")
	}
	_, err := catalog.Entries(t.Context())
	wantFault(t, err, fault.UpstreamUnavailable, "", "catalog")
	if n := asked.Load(); n != 1 {
		t.Errorf("the source was asked %d times", n)
	}
	for i, later := range []time.Duration{10 * time.Second, -time.Hour} { // the clock may step back
		clock.advance(later)
		_, err = catalog.Entries(t.Context())
		wantFault(t, err, fault.UpstreamUnavailable, "", "catalog")
		if n := int(asked.Load()); n != 2+i {
			t.Errorf("the source was asked %d times, %v later", n, later)
		}
	}
}

// joining reports when its user begins to wait.
type joining struct {
	context.Context //nolint:containedctx // it is one
	waits           chan struct{}
}

func (j joining) Done() <-chan struct{} {
	close(j.waits)
	return j.Context.Done()
}

// A caller that comes during the first refresh gets the same result as the refresh.
func TestCatalogJoinsRefresh(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan struct{}), make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-proceed
		_, _ = w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	catalog := newCatalog(server.URL, newClock())
	refreshed, answered := make(chan error), make(chan error)
	go func() { refreshed <- catalog.Refresh(t.Context()) }()
	<-arrived
	ctx := joining{t.Context(), make(chan struct{})}
	go func() {
		_, err := catalog.Entries(ctx)
		answered <- err
	}()
	<-ctx.waits
	close(proceed)
	if err := <-refreshed; err == nil {
		t.Error("an object was taken for a catalog")
	}
	wantFault(t, <-answered, fault.UpstreamUnavailable, "", "catalog")
}
