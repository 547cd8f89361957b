package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// While traces are off, a request only looks for a span once per statement and once per entry of the activity.
func TestTracesOff(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		cfg := config.Config{InviteTTL: time.Hour, DataDir: t.TempDir()}
		cfg.Bootstrap.Key, cfg.Bootstrap.Email = access.NewKey(), "grace@acme.example"
		s := Server{Config: cfg, Log: slog.New(slog.DiscardHandler), Stdout: io.Discard}
		const url = "http://foyer.example"
		domain, err := newDomain(cfg, "0123456789abcdef0123456789abcdef", url, d, s.Log)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.bootstrap(t.Context(), domain, url); err != nil {
			t.Fatal(err)
		}
		h := s.handler(t.Context(), domain, url, newMetrics(t.Context(), "", d, domain.Jobs, domain.Plugins.Children))
		for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusCreated} {
			looks, before := 0, dbtest.Statements(d)
			r := httptest.NewRequestWithContext(untraced{t.Context(), &looks}, method, "/api/organizations/@current/pipeline_frontend_apps", strings.NewReader(`{"name":"App"}`))
			r.Header.Set("Authorization", "Bearer "+cfg.Bootstrap.Key)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s: %d %s", method, w.Code, w.Body)
			}
			const entries = 1
			if most := int(dbtest.Statements(d)-before) + entries; looks > most {
				t.Errorf("%s: a span is looked for %d times, want %d at most", method, looks, most)
			}
		}
	})
	mux := http.NewServeMux()
	if traced(nil, mux) != http.Handler(mux) {
		t.Error("a request goes through another handler first")
	}
}

// untraced is a context that counts lookups of a span.
type untraced struct {
	context.Context //nolint:containedctx // it stands in for it
	looks           *int
}

func (u untraced) Value(key any) any {
	if strings.HasPrefix(fmt.Sprintf("%T", key), "trace.") {
		*u.looks++
	}
	return u.Context.Value(key)
}
