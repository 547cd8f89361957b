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

	"github.com/jackc/pgx/v5"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// pooled returns the url of a database behind PgBouncer, which gets more settings than its mode.
func pooled(t *testing.T, mode, more string) string {
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
%s
`, u.Query().Get("host"), port, mode, more), 0o644); err != nil {
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
	d, err := db.Open(t.Context(), pooled(t, "session", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for _, mode := range []string{"transaction", "statement"} {
		d, err := db.Open(t.Context(), pooled(t, mode, ""))
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// A pooler that shares sessions is also refused if others have made it open several, and it gives each in turn.
func TestPoolerThatOthersUse(t *testing.T) {
	t.Parallel()
	u := pooled(t, "transaction", "server_round_robin = 1")
	const sessions = 2
	var conns []*pgx.Conn
	for range sessions {
		conn, err := pgx.Connect(t.Context(), u)
		if err == nil {
			t.Cleanup(func() { conn.Close(context.Background()) })
			_, err = conn.Exec(t.Context(), "BEGIN")
		}
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
	d, err := db.Open(t.Context(), u+"&default_query_exec_mode=exec")
	if err == nil {
		d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
		t.Error(err)
	}
}
