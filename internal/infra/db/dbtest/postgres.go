//go:build unix

package dbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"foyer/internal/infra/db"
)

// Postgres returns the url of a PostgreSQL database that lives as long as the test, and contains only foyer's schema, so
// that tests need not wait for the migrations. The first call in a test binary starts its server, which ends with that
// binary, however that ends.
//
// The server does without fsync, and without the disk where memory has room: the tests check logic, not power failures.
// Without PostgreSQL's server programs the test fails; it is never skipped.
func Postgres(tb testing.TB) string {
	tb.Helper()
	c, name := database(tb, migrated)
	return c.url(name)
}

// Empty is Postgres without the schema.
func Empty(tb testing.TB) string {
	tb.Helper()
	c, name := database(tb, "template0")
	return c.url(name)
}

func database(tb testing.TB, template string) (c *Cluster, name string) {
	tb.Helper()
	c, err := sharedCluster()
	if err != nil {
		tb.Fatalf("starting PostgreSQL: %v", err)
	}
	name = fmt.Sprintf("test_%d", c.databases.Add(1))
	c.Exec(tb, "CREATE DATABASE "+name+" TEMPLATE "+template)
	tb.Cleanup(func() { c.Exec(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return c, name
}

// migrated is the database that is copied to make databases with the schema.
const migrated = "migrated"

// sharedCluster is the cluster of a test binary. Sharing it between the binaries of a run would save a second each, but
// need a count of users that survives kill -9.
var sharedCluster = sync.OnceValues(func() (*Cluster, error) {
	c, err := startCluster(memory(), initdb, forgetful)
	if err != nil {
		return nil, err
	}
	if _, err := c.admin.Exec("CREATE DATABASE " + migrated + " TEMPLATE template0"); err != nil {
		return nil, err
	}
	d, err := db.Open(context.Background(), c.url(migrated))
	if err != nil {
		return nil, err
	}
	return c, d.Close()
})

// Cluster is a PostgreSQL server and the folder with all its files.
type Cluster struct {
	dir        string
	programs   string
	credential *syscall.Credential
	admin      *sql.DB
	lifeline   io.Closer // the server runs while it is open
	keeper     *exec.Cmd
	databases  atomic.Int64
}

// url returns the complete url of a database of the cluster, so that no PG* variable of the environment matters.
func (c *Cluster) url(database string) string {
	query := url.Values{"host": {c.dir}, "port": {"5432"}, "sslmode": {"disable"}}
	return "postgres://postgres@/" + database + "?" + query.Encode()
}

// socket returns the unix socket that the server listens on.
func (c *Cluster) socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// Exec runs a statement as the superuser.
func (c *Cluster) Exec(tb testing.TB, query string) {
	tb.Helper()
	if _, err := c.admin.Exec(query); err != nil {
		tb.Errorf("%s: %v", query, err)
	}
}

const initdb = "initdb -D data -U postgres -A trust -E UTF8 --no-locale --no-sync"

// Settings of clusters: robust survives when its processes are killed, forgetful survives nothing.
const (
	robust = `
		max_connections = 300
		shared_buffers = 32MB
		fsync = off
		timezone = UTC`
	forgetful = robust + `
		synchronous_commit = off
		full_page_writes = off
		autovacuum = off`
)

// keeper makes a server in the current folder, starts it, reports that, and waits for the end of its standard input,
// which the kernel closes when the test binary dies. Then it stops the server and removes the folder. It ignores the
// signals that would prevent this.
const keeper = `
trap '' HUP INT TERM PIPE
eval "$MAKE" >log 2>&1 &&
cat >>data/postgresql.conf <<-END &&
	listen_addresses = ''
	unix_socket_directories = '$PWD'
	$SETTINGS
END
pg_ctl -D data -l log -w start >/dev/null 2>&1 && echo ready || cat log
exec >/dev/null 2>&1
cat
pg_ctl -D data -m immediate stop
rm -rf "$PWD"
`

// startCluster runs a server in a new folder of parent, or of the default for temporary folders; command makes its folder
// data.
func startCluster(parent, command, settings string) (*Cluster, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "foyer-postgres-")
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, programs: programs, credential: credential}
	c.keeper = c.command("/bin/sh", "-c", keeper)
	c.keeper.Env = append(c.keeper.Env, "MAKE="+command, "SETTINGS="+settings)
	if c.lifeline, err = c.keeper.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := c.keeper.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.keeper.Start(); err != nil {
		return nil, err
	}
	said, err := io.ReadAll(output)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(said, []byte("ready\n")) {
		return nil, errors.Join(errors.New(string(said)), c.lifeline.Close(), c.keeper.Wait())
	}
	c.admin, err = sql.Open("pgx", c.url("postgres"))
	return c, err
}

// command returns a command that runs in the cluster's folder, as its user.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + c.programs + ":" + os.Getenv("PATH"), "LC_ALL=C"}
	// It has a session of its own, so that Ctrl-C reaches the tests and not the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.credential}
	return cmd
}

// findPrograms returns the folder of the newest PostgreSQL server programs. Debian does not have them in PATH.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		return filepath.Dir(path), nil
	}
	newest, dir := 0.0, ""
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	for _, path := range found {
		bin := filepath.Dir(path)
		version, err := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64)
		if err == nil && version > newest {
			newest, dir = version, bin
		}
	}
	if dir == "" {
		return "", errors.Join(errors.New("no server programs in PATH or /usr/lib/postgresql; `make test` installs them"), err)
	}
	return dir, nil
}

// unprivileged gives dir to the user that the server runs as and returns that user's credential, or nil if the tests
// already run as that user. Only root needs another user, because PostgreSQL refuses to run as root.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}
