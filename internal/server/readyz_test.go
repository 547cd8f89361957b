package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A readiness check is answered even if the database does not answer.
func TestNotReady(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			d := dbtest.Open(t, url)
			ask := func() int {
				w := httptest.NewRecorder()
				Server{Log: slog.New(slog.DiscardHandler)}.readyz(nil, d)(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
				return w.Code
			}
			if got := ask(); got != http.StatusOK {
				t.Errorf("got %d", got)
			}
			answers := dbtest.Hang(t, d)
			begin := time.Now()
			if got := ask(); got != http.StatusServiceUnavailable || time.Since(begin) != readyTimeout {
				t.Errorf("got %d after %v", got, time.Since(begin))
			}
			answers()
		})
	})
}

// A server that is stopping is not ready although it still answers, so that proxies send nothing more.
func TestStoppingIsNotReady(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		running, stop := context.WithCancel(t.Context())
		to := wire.NewMux()
		Server{Log: slog.New(slog.DiscardHandler)}.pages(running, to, d)
		ask := func(path string) int {
			w := httptest.NewRecorder()
			to.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			return w.Code
		}
		if got := ask("/readyz"); got != http.StatusOK {
			t.Errorf("before: %d", got)
		}
		stop()
		if ready, alive := ask("/readyz"), ask("/healthz"); ready != http.StatusServiceUnavailable || alive != http.StatusOK {
			t.Errorf("ready: %d, alive: %d", ready, alive)
		}
	})
}
