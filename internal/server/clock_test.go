package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db/dbtest"
)

// If clocks differ, the log says by how much.
func TestClocksAreCompared(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	var logged bytes.Buffer
	s := Server{Log: slog.New(slog.NewTextHandler(&logged, nil))}
	s.compareClocks(t.Context(), d)
	if logged.Len() > 0 {
		t.Errorf("of clocks that agree: %s", &logged)
	}
	d.Now = func() time.Time { return time.Now().Add(-90 * time.Minute) }
	s.compareClocks(t.Context(), d)
	if got := logged.String(); !strings.Contains(got, "WARN") || !strings.Contains(got, "database_ahead=1h") {
		t.Errorf("of an hour and a half: %s", got)
	}
}
