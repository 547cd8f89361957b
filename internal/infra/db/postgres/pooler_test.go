//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// pooled returns the url of a database behind PgBouncer.
func pooled(t *testing.T, mode string) string {
	t.Helper()
	u, err := url.Parse(dbtest.Empty(t))
	if err != nil {
		t.Fatal(err)
	}
	program, err := osexec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	_, port, _ := net.SplitHostPort(dbtest.FreeAddress(t))
	settings := filepath.Join(t.TempDir(), "pgbouncer.ini")
	if err := os.WriteFile(settings, fmt.Appendf(nil, `
[databases]
* = host=%s port=5432 user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s
`, u.Query().Get("host"), port, mode), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	args := []string{settings}
	if os.Geteuid() == 0 { // PgBouncer refuses to run as root
		args = []string{"-u", "postgres", settings} // the user that runs PostgreSQL
		for dir := filepath.Dir(settings); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	pooler := osexec.CommandContext(ctx, program, args...)
	if err := pooler.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = pooler.Wait() // it was killed
	})
	deadline := time.Now().Add(20 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	return "postgres://postgres@127.0.0.1:" + port + u.Path + "?sslmode=disable"
}

// A pooler that shares sessions is refused, one that does not is accepted.
func TestPooler(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), pooled(t, "session"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for _, mode := range []string{"transaction", "statement"} {
		d, err := db.Open(t.Context(), pooled(t, mode))
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
