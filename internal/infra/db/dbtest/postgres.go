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

// Postgres returns the url of a PostgreSQL database that lives as long as the test, and holds
// nothing but foyer's schema, which each test would wait for otherwise. Its server is started
// by the first call in a test binary and ends with that binary, however that ends.
//
// The server forgoes fsync, and the disk where memory has room: it tests logic, not what survives a power failure.
// Without PostgreSQL's server programs the test fails; it is never skipped.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return database(tb, migrated)
}

// Empty is Postgres without the schema.
func Empty(tb testing.TB) string {
	tb.Helper()
	return database(tb, "template0")
}

func database(tb testing.TB, template string) string {
	tb.Helper()
	c, err := sharedCluster()
	if err != nil {
		tb.Fatalf("starting PostgreSQL: %v", err)
	}
	name := fmt.Sprintf("test_%d", c.databases.Add(1))
	c.Exec(tb, "CREATE DATABASE "+name+" TEMPLATE "+template)
	tb.Cleanup(func() { c.Exec(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return c.url(name)
}

// migrated is the database that those with the schema are copies of.
const migrated = "migrated"

// sharedCluster is one per test binary. Sharing it between the binaries of a run
// would save a second each, and cost a count of users that survives kill -9.
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

// Cluster is a PostgreSQL server and the folder that holds all it has.
type Cluster struct {
	dir        string
	programs   string
	credential *syscall.Credential
	admin      *sql.DB
	lifeline   io.Closer // while it is open, the server runs
	keeper     *exec.Cmd
	databases  atomic.Int64
}

// url names a database of the cluster completely, so that no PG* variable of
// the environment matters.
func (c *Cluster) url(database string) string {
	query := url.Values{"host": {c.dir}, "port": {"5432"}, "sslmode": {"disable"}}
	return "postgres://postgres@/" + database + "?" + query.Encode()
}

// socket is where the server listens.
func (c *Cluster) socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// Exec runs a statement as the superuser.
func (c *Cluster) Exec(tb testing.TB, query string) {
	tb.Helper()
	if _, err := c.admin.Exec(query); err != nil {
		tb.Errorf("%s: %v", query, err)
	}
}

const initdb = "initdb -D data -U postgres -A trust -E UTF8 --no-locale --no-sync"

// What a cluster survives: nothing, or that its processes are killed.
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

// keeper makes a server in the current folder, starts it, says so, and waits for its
// standard input to end, which the kernel sees to when the test binary dies:
// then it stops the server and removes the folder. It ignores the signals that
// would keep it from that.
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

// startCluster runs a server whose folder data a command makes, in a new folder of parent, or where temporary ones are.
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

// command runs in the cluster's folder, as its user.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + c.programs + ":" + os.Getenv("PATH"), "LC_ALL=C"}
	// A session of its own, so that Ctrl-C reaches the tests and not the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.credential}
	return cmd
}

// findPrograms returns the folder of the newest PostgreSQL server programs.
// Debian keeps them out of PATH.
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

// unprivileged gives dir to the user the server runs as and returns that user's
// credential, or nil where it is already the one who runs the tests: only for
// root are they different, because PostgreSQL refuses to run as root.
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
