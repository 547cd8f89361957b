package api_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"foyer/internal/domain/site"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
)

// A handler that panics fails its request alone, and is logged once, also where the program asks itself: the console does
// on goroutines on which nobody else recovers.
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
