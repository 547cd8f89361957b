package api_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// The token at the end of a path is never logged, however odd the path is.
func FuzzLoggedPath(f *testing.F) {
	for _, path := range []string{"/invite/", "/ȺȺȺ/signup/", "/invite;x/", "/INVITE /", "/api/signup2/", "/\xff/invite/", "//", "/a/../invite/", "console/", "console//i/", "console/../"} {
		f.Add(path)
	}
	const canary = "SECRETsecret"
	f.Fuzz(func(t *testing.T, path string) {
		var log bytes.Buffer
		a := &api.API{Log: slog.New(slog.NewJSONHandler(&log, nil)), Keys: access.NewKeys(&db.DB{Now: func() time.Time { return time.Time{} }})}
		to := wire.NewMux()
		refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		to.Handle("/invite/{token}", refuse)
		to.Handle("/console/", refuse)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.URL.Path = "/" + path + canary
		a.Observe(to, func(*http.Request, api.Outcome) {}).ServeHTTP(httptest.NewRecorder(), r)
		if text := log.String(); strings.Contains(text, canary) {
			t.Error(text)
		}
	})
}

// The first part of an answer reaches the client while the handler makes the rest.
func TestStreaming(t *testing.T) {
	t.Parallel()
	received := make(chan struct{})
	a := &api.API{Log: slog.New(slog.DiscardHandler), Keys: access.NewKeys(&db.DB{Now: time.Now})}
	h := a.Handler(func(to *wire.Mux) {
		to.Handle("/stream", wire.Get(wire.Secret(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "first\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			select {
			case <-received:
			case <-r.Context().Done():
			}
			io.WriteString(w, "second\n")
		}))))
	})
	status := make(chan int, 1)
	s := httptest.NewServer(a.Observe(h, func(_ *http.Request, o api.Outcome) { status <- o.Status }))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 20 * time.Second}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body := bufio.NewReader(answer.Body)
	if line, err := body.ReadString('\n'); line != "first\n" {
		t.Fatalf("the client reads %q (%v)", line, err)
	}
	close(received)
	if rest, err := io.ReadAll(body); string(rest) != "second\n" || err != nil {
		t.Errorf("then it reads %q (%v)", rest, err)
	}
	if got := <-status; got != http.StatusOK {
		t.Errorf("status %d is counted", got)
	}
}

// Logged times have the unit of the metrics.
func TestLoggedTime(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	now := time.Now()
	clock := func() time.Time {
		now = now.Add(1500 * time.Millisecond)
		return now
	}
	a := &api.API{Log: slog.New(slog.NewJSONHandler(&log, nil)), Keys: access.NewKeys(&db.DB{Now: clock})}
	a.Observe(http.NotFoundHandler(), func(*http.Request, api.Outcome) {}).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if text := log.String(); !strings.Contains(text, `"took_seconds":1.5}`) {
		t.Error(text)
	}
}

// observed returns a handler like a server's, its log, and the outcome of the last request.
func (r *rig) observed() (h http.Handler, log *bytes.Buffer, last *api.Outcome) {
	log, last = &bytes.Buffer{}, &api.Outcome{}
	r.api.Log = slog.New(slog.NewJSONHandler(log, nil))
	return r.api.Observe(r.api.Handler(func(*wire.Mux) {}), func(_ *http.Request, o api.Outcome) { *last = o }), log, last
}

// The log line of a refused request says who made it: the key's prefix, the organization, the address, and the trace
// that a proxy began.
func TestLoggedCaller(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		h, log, got := r.observed()
		const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
		for traceparent, logged := range map[string]bool{
			"00-" + trace + "-00f067aa0ba902b7-01":                    true,
			"cc-" + trace + "-00f067aa0ba902b7-01-extra":              true,
			"ff-" + trace + "-00f067aa0ba902b7-01":                    false,
			"00-" + trace + "-0000000000000000-01":                    false,
			"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
			"00-" + trace + `-00f067aa0ba902b7-01", "status": "200`:   false,
			"00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01":   false,
		} {
			log.Reset()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/organizations/@current/pipeline_frontend_apps/404/", nil)
			req.Header.Set("Authorization", "bearer  "+r.key)
			req.Header.Set("Traceparent", traceparent)
			h.ServeHTTP(httptest.NewRecorder(), req)
			if got.Status != http.StatusNotFound || got.Code != "not_found" {
				t.Errorf("%+v", got)
			}
			for _, want := range []string{`"client":"192.0.2.1"`, `"key":"` + r.key[:12] + `"`, `"organization":"` + r.org.ID + `"`, `"code":"not_found"`} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s: %s", want, log.String())
				}
			}
			if strings.Contains(log.String(), `"trace_id":"`+trace+`"`) != logged || strings.Contains(log.String(), r.key) {
				t.Errorf("%s: %s", traceparent, log.String())
			}
		}
	})
}

// Requests that are refused are logged, and no others.
func TestLoggedStatus(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		h, log, _ := r.observed()
		for query, want := range map[string]string{"?limit=1": "", "?limit=x": `"status":400`} {
			log.Reset()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/organizations/@current/pipeline_frontend_apps"+query, nil)
			req.Header.Set("Authorization", "Bearer "+r.key)
			h.ServeHTTP(httptest.NewRecorder(), req)
			if !strings.Contains(log.String(), want) || want == "" && log.String() != "" {
				t.Errorf("%s: %s", query, log.String())
			}
		}
	})
}

// A path is logged as in the request: what a terminal would obey, or show in another order, stays escaped.
func TestLoggedPathIsEscaped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h, log, _ := newRig(t, d).observed()
		const path = "/api/organizations/%C2%9B2J%E2%80%AEx/members"
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if !strings.Contains(log.String(), `"path":"`+path+`"`) {
			t.Error(log.String())
		}
	})
}

// A request refused for its path or method also has a code in the log and the metrics.
func TestCodeWithoutRoute(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		h, log, got := r.observed()
		for path, want := range map[string]string{"/api/users/@me": "method_not_allowed", "/api/nothing": "not_found", "/api//users/@me": "not_found"} {
			log.Reset()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodDelete, path, nil))
			if got.Code != want || !strings.Contains(log.String(), `"code":"`+want+`"`) {
				t.Errorf("%s: %+v, %s", path, got, log.String())
			}
		}
	})
}

// lines is a log that timers can write to while a test reads it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// take returns what was written since the last take.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}

// A client that ignores its limit does not fill the disk: one line a minute says how many
// requests were refused.
func TestThrottledIsCountedInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		a := &api.API{Log: slog.New(slog.NewJSONHandler(&log, nil)), Keys: access.NewKeys(&db.DB{Now: time.Now})}
		refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
		h := a.Observe(refuse, func(*http.Request, api.Outcome) {})
		for range 3 {
			for range 1000 {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			}
			if text := log.take(); text != "" {
				t.Errorf("logged at once: %s", text)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if text := log.take(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"requests":1000}`) {
				t.Errorf("logged after a minute: %s", text)
			}
		}
	})
}

// A made-up method may be a key, so it is not logged.
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

// Nobody can fill the disk with long paths.
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
