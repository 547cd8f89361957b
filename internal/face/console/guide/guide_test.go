package guide_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/face/console/guide"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

const reference = `{"paths": {"/api/x": {"parameters": [], "get": {"operationId": "listZebras", "summary": "List zebras", "description": "All of them."}}}}`

func get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	mux := wire.NewMux()
	(&guide.Guides{Host: markup.Host{BaseURL: "https://acme.example"}, Reference: []byte(reference)}).Register(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

// The guides are shown, with the server that shows them in what is copied.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, listed := range (guide.Page{}).Guides() {
		w := get(t, "/docs/"+listed.Name)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<h1") || strings.Contains(w.Body.String(), `.md"`) {
			t.Errorf("%s: %d", listed.Name, w.Code)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Error(policy)
		}
	}
	if body := get(t, "/docs/api").Body.String(); !strings.Contains(body, "export ORG=https://acme.example/api") || strings.Contains(body, "127.0.0.1:8000") {
		t.Error("the samples name another server")
	}
	if w := get(t, "/docs/none"); w.Code != http.StatusNotFound {
		t.Error(w.Code)
	}
}

// Guides and operations are found by all the words.
func TestSearch(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"ZEBRAS":           `/docs#listZebras"`,
		"five+minutes+app": `/docs/guide-app-authors#a-first-app-in-five-minutes"`,
		"xyzzy+zebras":     "Nothing has these words.",
		"%3Cscript%3E":     "&lt;script&gt;",
	} {
		if w := get(t, "/docs/search?q="+query); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, without %s", query, w.Code, want)
		}
	}
}

// What is checked in was made of the texts as they are.
func TestGenerated(t *testing.T) {
	t.Parallel()
	sources := sha256.New()
	for _, listed := range (guide.Page{}).Guides() {
		text, err := os.ReadFile(filepath.Join("../../../../docs", listed.Name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	made, err := os.ReadFile("pages/sources.sha256")
	if err != nil || string(made) != fmt.Sprintf("%x\n", sources.Sum(nil)) {
		t.Errorf("the guides are not those of docs/: go generate ./internal/face/console/guide (%v)", err)
	}
}
