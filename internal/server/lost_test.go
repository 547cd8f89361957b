package server_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/internal/config"
	"foyer/internal/server"
)

// A server whose database is removed stores nothing, is not ready, and says so once. No other
// is begun beside the secret.
func TestRemovedDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, config.Config{DataDir: dir})
	if got := s.send(t, "POST", "/", `{"name":"x"}`); got.status != http.StatusCreated {
		t.Fatalf("got %+v", got)
	}
	for _, name := range []string{"foyer.db", "foyer.db-wal", "foyer.db-shm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.send(t, "POST", "/", `{"name":"x"}`); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("a change: %+v", got)
	}
	if got := browse(t, "GET", s.URL+"/readyz", nil); got.status != http.StatusServiceUnavailable {
		t.Errorf("ready: %+v", got)
	}
	const line = `"level":"ERROR","msg":"the database is lost"`
	deadline := time.Now().Add(10 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); !strings.Contains(s.log.String(), line); <-tick {
		if time.Now().After(deadline) {
			t.Fatal("the log does not tell")
		}
	}
	cfg := config.Config{DataDir: dir, Database: "sqlite:" + filepath.Join(dir, "foyer.db"), Listen: "127.0.0.1:0"}
	for range 2 {
		err := server.Server{Config: cfg, Log: slog.New(slog.DiscardHandler), Stdout: io.Discard}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "foyer admin restore") {
			t.Fatalf("a start beside the secret: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "foyer.db"), nil, 0o600); err != nil { // an empty one is none
			t.Fatal(err)
		}
	}
	if n := strings.Count(s.log.String(), line); n != 1 {
		t.Errorf("the log tells it %d times", n)
	}
}
