package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/infra/db/dbtest"
)

// Whoever asks whether the database answers is told even when it does not.
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
