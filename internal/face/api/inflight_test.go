package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"foyer/internal/base/inflight"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
)

// held is an answer whose client reads nothing until it is released.
type held struct {
	*httptest.ResponseRecorder
	writing chan struct{}
	let     chan struct{}
}

func (h *held) Write(b []byte) (int, error) {
	h.writing <- struct{}{}
	<-h.let
	return h.ResponseRecorder.Write(b)
}

// Slow readers of different bundles can make the server hold only a limited number. One bundle can have any number of
// slow readers, and one organization's bundles leave room for those of others.
func TestSlowReadersOfBundles(t *testing.T) {
	each(t, func(r *rig) {
		var bundles []string
		for i, letter := range []string{"a", "b", "c"} {
			const theirs = "/api/organizations/@current" + apps
			key := []string{r.key, r.key, r.otherKey}[i]
			id := between(r.send(key, "POST", theirs, `{"name":"x","plugin_type":"source"}`).body, `{"id":`, ",")
			saved := r.send(key, "PATCH", theirs+id+"/update_source", `{"site.ts":"export const a = '`+strings.Repeat(letter, 600<<10)+`'"}`)
			bundles = append(bundles, between(saved.body, `"bundle":{"url":"`+baseURL, `"`))
			r.wantStatus("", "GET", bundles[len(bundles)-1], "", 200) // to load it into memory
		}
		limited := *r.api
		limited.InFlight = inflight.New(3 << 20)
		h := limited.Observe(limited.Handler(func(*wire.Mux) {}), func(*http.Request, api.Outcome) {})
		slow := &held{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		done := make(chan struct{})
		for range 3 {
			go func() {
				h.ServeHTTP(slow, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, bundles[0], nil))
				done <- struct{}{}
			}()
			<-slow.writing
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, bundles[2], nil))
		if w.Code != http.StatusOK {
			r.t.Errorf("another organization's: %d %s", w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, bundles[1], nil))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			r.t.Errorf("another bundle: %d %v", w.Code, w.Header())
		}
		for range 3 {
			slow.let <- struct{}{}
			<-done
		}
		w = httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, bundles[1], nil)); w.Code != http.StatusOK || limited.InFlight.Held() != 0 {
			r.t.Errorf("once they have it: %d, %d bytes are held", w.Code, limited.InFlight.Held())
		}
	})
}

// atEnd is an empty body that does something when it is read.
type atEnd func()

func (do atEnd) Read([]byte) (int, error) {
	do()
	return 0, io.EOF
}

// A report of a page counts as held while it arrives.
func TestBeaconsAreCounted(t *testing.T) {
	each(t, func(r *rig) {
		limited := *r.api
		limited.InFlight = inflight.New(1 << 20)
		h := limited.Observe(limited.Handler(func(*wire.Mux) {}), func(*http.Request, api.Outcome) {})
		held := 0
		body := io.MultiReader(strings.NewReader("{}"), atEnd(func() { held = limited.InFlight.Held() }))
		path := "/sites/" + r.siteToken(r.site("Shop")) + "/beacon"
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, path, body))
		if held == 0 || limited.InFlight.Held() != 0 {
			r.t.Errorf("%d bytes were held, %d are", held, limited.InFlight.Held())
		}
	})
}
