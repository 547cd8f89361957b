package server_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/server"
)

// A server whose database file is removed stores nothing, is not ready, and logs the error once. A server does not
// start with a new database if there is a secret.
func TestRemovedDatabase(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	dir, s := cfg.DataDir, start(t, cfg)
	if got := s.send(t, "POST", "/", `{"name":"x"}`); got.status != http.StatusCreated {
		t.Fatalf("got %+v", got)
	}
	for _, name := range []string{"foyer.db", "foyer.db-wal", "foyer.db-shm"} {
		check(t, os.Remove(filepath.Join(dir, name)))
	}
	if got := s.send(t, "POST", "/", `{"name":"x"}`); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("a change: %+v", got)
	}
	for range 3 {
		if got := browse(t, "GET", s.URL+"/readyz", nil); got.status != http.StatusServiceUnavailable {
			t.Errorf("ready: %+v", got)
		}
	}
	const line = `"level":"ERROR","msg":"the database is lost"`
	until(t, func() bool { return strings.Contains(s.log.String(), line) })
	if runtime.GOOS == "linux" {
		rescue(t, dir)
	}
	for _, cfg.Secret = range []string{"", strings.Repeat("s", 32)} { // a secret that was given since changes nothing
		err := server.Server{Config: cfg, Log: slog.New(slog.DiscardHandler), Stdout: io.Discard}.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "foyer admin restore") {
			t.Fatalf("a start beside the secret: %v", err)
		}
		check(t, os.WriteFile(filepath.Join(dir, "foyer.db"), nil, 0o600)) // an empty file is not a database
	}
	for _, line := range []string{line, `"msg":"not ready"`} {
		if n := strings.Count(s.log.String(), line); n != 1 {
			t.Errorf("the log tells it %d times: %s", n, line)
		}
	}
}

// rescue copies a removed database from the files that this process still has open, as the log advises, and checks the
// copy.
func rescue(t *testing.T, dir string) {
	t.Helper()
	const open = "/proc/self/fd"
	files := must(os.ReadDir(open))(t)
	saved := t.TempDir()
	for _, f := range files {
		link, _ := os.Readlink(filepath.Join(open, f.Name())) // it may be closed by now
		name, removed := strings.CutSuffix(link, " (deleted)")
		if !removed || filepath.Dir(name) != dir {
			continue
		}
		content := must(os.ReadFile(filepath.Join(open, f.Name())))(t)
		check(t, os.WriteFile(filepath.Join(saved, filepath.Base(name)), content, 0o600))
	}
	check(t, os.Remove(filepath.Join(saved, "foyer.db-shm"))) // the copy does not need it
	d := must(db.Open(t.Context(), "sqlite:"+filepath.Join(saved, "foyer.db")))(t)
	defer d.Close()
	if name, err := db.One[string](t.Context(), d, nil, `SELECT name FROM plugins`); err != nil || name != "x" {
		t.Errorf("the copy has the app %q, %v", name, err)
	}
}
