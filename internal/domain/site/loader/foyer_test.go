package loader_test

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"foyer/internal/domain/site/loader"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Main(m, map[string]sandbox.Task{bundle.TaskName: bundle.Work})
}

// foyer is a server with one site, with the routes that pages use.
type foyer struct {
	*httptest.Server
	token string

	mu       sync.Mutex
	manifest http.HandlerFunc
	previews map[string]string
	bundles  map[string]http.HandlerFunc
	wrong    []string        // manifests of other sites
	requests []*http.Request // those for manifests
	beacons  chan string
}

// app is an entry of a manifest.
type app struct {
	ID        int            `json:"id"`
	Name      string         `json:"name"`
	Version   int            `json:"version"`
	URL       string         `json:"url"`
	Integrity string         `json:"integrity"`
	Config    map[string]any `json:"config"`
	Paths     []string       `json:"paths"`
}

var sites atomic.Int64

func newFoyer(t *testing.T) *foyer {
	t.Helper()
	f := &foyer{
		token:    fmt.Sprintf("SITE%d", sites.Add(1)), // pages of one server share their storage
		previews: map[string]string{}, bundles: map[string]http.HandlerFunc{}, beacons: make(chan string, 10),
	}
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.MaxHeaderBytes = 8 << 10                                                // as many proxies have it
	f.Config.BaseContext = func(net.Listener) context.Context { return t.Context() } // releases answers that wait for the end of the test
	f.Start()
	t.Cleanup(f.stop)
	return f
}

// stop ends the server. It closes the listener before the connections, so that no browser connects again in between.
func (f *foyer) stop() {
	_ = f.Listener.Close()
	f.CloseClientConnections()
	f.Close()
}

func (f *foyer) element() string {
	return `<script async nonce="once" src="` + f.URL + "/sites/" + f.token + `/loader.js"></script>`
}

// app makes an app and serves its bundle.
func (f *foyer) app(id int, name, js string) app {
	path := fmt.Sprintf("/apps/APP%d/%s.js", id, name)
	f.serve(path, func(w http.ResponseWriter, _ *http.Request) { writeBundle(w, js) })
	sum := sha512.Sum384([]byte(js))
	return app{
		ID: id, Name: name, Version: id * 10, URL: f.URL + path, Integrity: "sha384-" + base64.StdEncoding.EncodeToString(sum[:]),
		Config: map[string]any{}, Paths: []string{},
	}
}

// compiled returns an app whose bundle is compiled from files.
func (f *foyer) compiled(t *testing.T, id int, name string, files map[string]string) app {
	t.Helper()
	made, err := bundle.Compile(t.Context(), sandbox.New(1, 0, slog.New(slog.DiscardHandler)), "Acme", files)
	if err != nil || made.Bundle == nil {
		t.Fatalf("no bundle: %+v, %v", made.Files, err)
	}
	a := f.app(id, name, string(made.Bundle.JS))
	a.Integrity = made.Bundle.Integrity
	return a
}

// logging returns an app that logs its name when it runs.
func (f *foyer) logging(id int, name string) app {
	return f.app(id, name, `export function inject() { log.push("`+name+`") }`)
}

func writeBundle(w http.ResponseWriter, js string) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = io.WriteString(w, js)
}

func (f *foyer) serve(path string, bundle http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bundles[path] = bundle
}

// hold delays an app's bundle until release is called.
func (f *foyer) hold(a app) (release func()) {
	path := strings.TrimPrefix(a.URL, f.URL)
	f.mu.Lock()
	bundle := f.bundles[path]
	f.mu.Unlock()
	released := make(chan struct{})
	f.serve(path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
			bundle(w, r)
		case <-r.Context().Done():
		}
	})
	return sync.OnceFunc(func() { close(released) })
}

func (f *foyer) document(revision int, apps ...app) string {
	if apps == nil {
		apps = []app{}
	}
	body, _ := json.Marshal(map[string]any{"site": f.token, "revision": revision, "sample": 1, "apps": apps})
	return string(body)
}

// publish sets the manifest that pages get from now on.
func (f *foyer) publish(revision int, apps ...app) {
	f.answer(constant(f.document(revision, apps...)))
}

func constant(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func (f *foyer) answer(manifest http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.manifest = manifest
}

func (f *foyer) preview(token, manifest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.previews[token] = manifest
}

func (f *foyer) asked() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

func (f *foyer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	root := "/sites/" + f.token + "/"
	switch r.URL.Path {
	case root + "loader.js":
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(loader.Script(f.URL, f.token))
	case root + "manifest.json":
		f.serveManifest(w, r)
	case root + "beacon":
		body, _ := io.ReadAll(r.Body)
		f.beacons <- r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)
		w.WriteHeader(http.StatusNoContent)
	default:
		if f.serveWrong(w, r) {
			return
		}
		f.mu.Lock()
		bundle := f.bundles[r.URL.Path]
		f.mu.Unlock()
		if bundle == nil {
			bundle = http.NotFound
		}
		bundle(w, r)
	}
}

func (f *foyer) serveManifest(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	f.mu.Lock()
	f.requests = append(f.requests, r)
	answer, preview := f.manifest, f.previews[r.URL.Query().Get("preview")]
	f.mu.Unlock()
	switch {
	case preview != "":
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, preview)
	case r.URL.RawQuery != "" || answer == nil:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}`)
	default:
		w.Header().Set("Cache-Control", "public, max-age=10, stale-if-error=86400")
		answer(w, r)
	}
}

// batch is how many loaders of sites with wrong manifests one script has.
const batch = 50

// serveWrong serves the loaders and manifests of the sites with wrong manifests.
func (f *foyer) serveWrong(w http.ResponseWriter, r *http.Request) bool {
	var n int
	var what string
	if _, err := fmt.Sscanf(r.URL.Path, "/sites/WRONG%d/%s", &n, &what); err != nil {
		return false
	}
	switch what {
	case "loader.js":
		w.Header().Set("Content-Type", "text/javascript")
		for i := range batch {
			_, _ = w.Write(loader.Script(f.URL, fmt.Sprintf("WRONG%d", n+i)))
		}
	case "manifest.json":
		_, _ = io.WriteString(w, f.wrong[n])
	}
	return true
}
