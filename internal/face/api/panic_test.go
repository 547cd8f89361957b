package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/domain/site"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
)

// A handler that panics fails only its own request, and is logged once. That also holds for calls inside the program:
// the console makes them on goroutines without another recover.
func TestPanic(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		broken := *r.api
		broken.Log, broken.Sites = slog.New(slog.NewTextHandler(&log, nil)), site.Service{}
		routes := broken.Handler(func(*wire.Mux) {})
		for name, h := range map[string]http.Handler{
			"from outside":       broken.Observe(routes, func(*http.Request, api.Outcome) {}),
			"inside the program": routes,
		} {
			log.Reset()
			req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, baseURL+"/api/organizations/"+r.org.ID+"/sites/", nil)
			if err != nil {
				r.t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+r.key)
			req.Header.Set("X-Request-Id", "a-request")
			ask := wire.Inside{Handler: h, RequestID: "a-request", Context: func(ctx context.Context) context.Context { return ctx }}
			res, err := ask.RoundTrip(req)
			if err != nil {
				r.t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusInternalServerError {
				r.t.Errorf("%s: %s", name, res.Status)
			}
			if text := log.String(); strings.Count(text, "panic: ") != 1 || !strings.Contains(text, "request_id=a-request ") {
				r.t.Errorf("%s: %s", name, text)
			}
		}
	})
}

// A panic is logged even if the client has disconnected.
func TestPanicOfADisconnected(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		broken := *r.api
		broken.Log = slog.New(slog.NewTextHandler(&log, nil))
		ctx, leave := context.WithCancel(r.t.Context())
		leave()
		h := broken.Observe(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") }), func(*http.Request, api.Outcome) {})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		if w.Code != http.StatusInternalServerError || strings.Count(log.String(), "panic: broken") != 1 {
			r.t.Errorf("%d, %s", w.Code, log.String())
		}
	})
}

// A stream is aborted if its handler panics: it has no line with an error's body, and does not end like a complete one.
func TestPanicInAStream(t *testing.T) {
	each(t, func(r *rig) {
		var breaks atomic.Bool
		clock := r.db.Now
		r.db.Now = func() time.Time {
			if breaks.CompareAndSwap(true, false) {
				panic("the clock is broken")
			}
			return clock()
		}
		_, body := r.open(r.url, r.key, "/events", "text/event-stream")
		begins := make([]byte, len(": events\n\n"))
		if _, err := io.ReadFull(body, begins); err != nil {
			r.t.Fatal(err)
		}
		breaks.Store(true)
		rest, err := io.ReadAll(body)
		if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(string(rest), "server_error") {
			r.t.Errorf("%q, %v", rest, err)
		}
	})
}

// A request with an Idempotency-Key whose handler panics has changed nothing and can be sent again at once.
func TestPanicGivesUpTheIdempotencyKey(t *testing.T) {
	each(t, func(r *rig) {
		broken := *r.api
		broken.Invites.Mails, broken.Invites.Jobs = true, nil // queueing the mail panics, in the transaction of the change
		const body = `{"target_email":"a@x.example"}`
		if got := r.sendTo(r.serve(&broken), r.key, "POST", invites, body, "Idempotency-Key", "k"); got.status != http.StatusInternalServerError {
			r.t.Fatal(got.status, got.body)
		}
		if got := r.once("k", "POST", invites, body); got.status != http.StatusCreated || got.header.Get("Idempotent-Replayed") != "" {
			r.t.Errorf("sent again: %d %s", got.status, got.body)
		}
	})
}
