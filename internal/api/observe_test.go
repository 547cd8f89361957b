package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"foyer/internal/access"
	"foyer/internal/api"
	"foyer/internal/db"
	"foyer/internal/router"
)

// Whatever a path is like, it is logged, and what follows a word like invite is not.
func FuzzLoggedPath(f *testing.F) {
	for _, path := range []string{"/invite/", "/ȺȺȺ/signup/", "/invite;x/", "/INVITE /", "/api/signup2/", "/\xff/invite/", "//", "/a/../invite/", "console/", "console//i/", "console/../"} {
		f.Add(path)
	}
	const canary = "SECRETsecret"
	f.Fuzz(func(t *testing.T, path string) {
		var log bytes.Buffer
		a := &api.API{Log: slog.New(slog.NewJSONHandler(&log, nil)), Keys: &access.Keys{DB: &db.DB{Now: func() time.Time { return time.Time{} }}}}
		to := &router.Router{}
		refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		to.Handle("/invite/{token}", refuse)
		to.Handle("/console/", refuse)
		to.Handle("/", refuse)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL.Path = "/" + path + canary
		a.Observe(to, func(*http.Request, int, time.Duration) {}).ServeHTTP(httptest.NewRecorder(), r)
		if text := log.String(); strings.Contains(text, canary) {
			t.Error(text)
		}
	})
}

// What is logged has the unit of the metrics.
func TestLoggedTime(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now()
	clock := func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}
	a := &api.API{Log: slog.New(slog.NewJSONHandler(&log, nil)), Keys: &access.Keys{DB: &db.DB{Now: clock}}}
	a.Observe(http.NotFoundHandler(), func(*http.Request, int, time.Duration) {}).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if text := log.String(); !strings.Contains(text, `"took_seconds":1.5}`) {
		t.Error(text)
	}
}

// A method may be anything, a key too: one that is made up is not logged.
func TestLoggedMethod(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		url := r.serveLogged(&log)
		for method, want := range map[string]string{
			r.key: "(unknown)", strings.Repeat("x", 60_000): "(unknown)", "PUT": "PUT", "get": "(unknown)", "DELETE": "DELETE",
		} {
			log.Reset()
			if got := r.sendTo(url, r.key, method, apps, ""); got.status != http.StatusMethodNotAllowed {
				r.t.Errorf("%.20s: %d %s", method, got.status, got.body)
			}
			if text := log.String(); len(text) > 1000 || !strings.Contains(text, " method="+want+" ") {
				r.t.Errorf("%.20s: %.1000s", method, text)
			}
		}
	})
}

// Nobody fills the disk with what they ask for.
func TestLoggedPathIsCut(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		url := r.serveLogged(&log)
		if got := r.sendTo(url, "", http.MethodGet, "/apps/A/"+strings.Repeat("%ff", 20_000), ""); got.status != http.StatusNotFound {
			r.t.Errorf("%d %s", got.status, got.body)
		}
		if text := log.String(); len(text) > 2000 || !strings.Contains(text, "/apps/A/") {
			r.t.Errorf("%d bytes: %.500s", len(text), text)
		}
	})
}
