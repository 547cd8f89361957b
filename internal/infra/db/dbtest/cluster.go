//go:build linux

package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// NewCluster runs a PostgreSQL server for one test, which may stop, kill and replace it. Acknowledged changes survive
// when its processes are killed.
func NewCluster(tb testing.TB) *Cluster {
	tb.Helper()
	return newCluster(tb, initdb, robust)
}

func newCluster(tb testing.TB, command, settings string) *Cluster {
	tb.Helper()
	c, err := startCluster("", command, settings)
	if err != nil {
		tb.Fatalf("starting PostgreSQL: %v", err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(c.admin.Close(), c.lifeline.Close()); err != nil {
			tb.Error(err)
		}
		_ = c.keeper.Wait() // its error says how the server was stopped, which may be dead by now
	})
	return c
}

// Relay returns a relay to the server, and the url of its database through the relay.
func (c *Cluster) Relay(tb testing.TB) (*Relay, string) {
	tb.Helper()
	r := StartRelay(tb, "unix", c.socket())
	return r, "postgres://postgres@" + r.Address + "/postgres?sslmode=disable"
}

// URL returns the url of the cluster's database.
func (c *Cluster) URL() string { return c.url("postgres") }

func (c *Cluster) control(tb testing.TB, args ...string) {
	tb.Helper()
	if out, err := c.command("pg_ctl", append([]string{"-D", "data", "-l", "log", "-w"}, args...)...).Output(); err != nil {
		tb.Fatalf("pg_ctl %s: %v\n%s", args, err, out)
	}
}

// Stop stops the server and ends its connections.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	c.control(tb, "-m", "fast", "stop")
}

// Start starts a server that was stopped or killed.
func (c *Cluster) Start(tb testing.TB) {
	tb.Helper()
	c.control(tb, "start")
}

// Kill ends all processes of the server at once.
func (c *Cluster) Kill(tb testing.TB) {
	tb.Helper()
	pids := c.freeze(tb)
	signal(tb, syscall.SIGKILL, pids...)
	for tick := time.Tick(10 * time.Millisecond); anyAlive(pids); <-tick {
		continue
	}
	// A process that nobody waits for would look like a running server.
	if err := errors.Join(os.Remove(filepath.Join(c.dir, "data/postmaster.pid")), os.Remove(c.socket()+".lock")); err != nil {
		tb.Fatal(err)
	}
}

// freeze stops all processes with SIGSTOP, the postmaster first.
func (c *Cluster) freeze(tb testing.TB) (pids []int) {
	tb.Helper()
	file, err := os.ReadFile(filepath.Join(c.dir, "data/postmaster.pid"))
	if err != nil {
		tb.Fatal(err)
	}
	line, _, _ := strings.Cut(string(file), "\n")
	first, err := strconv.Atoi(line)
	if err != nil {
		tb.Fatal(err)
	}
	signal(tb, syscall.SIGSTOP, first)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", first, first))
	if err != nil {
		tb.Fatal(err)
	}
	pids = []int{first}
	for _, child := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(child)
		if err != nil {
			tb.Fatal(err)
		}
		pids = append(pids, pid)
	}
	signal(tb, syscall.SIGSTOP, pids[1:]...)
	return pids
}

func signal(tb testing.TB, s syscall.Signal, pids ...int) {
	tb.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			tb.Error(err)
		}
	}
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "Z") {
			return true
		}
	}
	return false
}

// Image starts another server on a copy of the files at one moment, as after a power failure.
func (c *Cluster) Image(tb testing.TB) *Cluster {
	tb.Helper()
	pids := c.freeze(tb)
	copied, err := c.command("cp", "-a", "data", "image").CombinedOutput()
	signal(tb, syscall.SIGCONT, pids...)
	if err != nil {
		tb.Fatalf("%v: %s", err, copied)
	}
	return newCluster(tb, "mv "+c.dir+"/image data && rm data/postmaster.pid", "")
}

// Replica starts a server with all data of this one, which from then on acknowledges only changes that both have.
func (c *Cluster) Replica(tb testing.TB) *Cluster {
	tb.Helper()
	r := newCluster(tb, "pg_basebackup -D data -U postgres -h "+c.dir+" -R -c fast --no-sync", "")
	c.Exec(tb, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	c.Exec(tb, "SELECT pg_reload_conf()")
	for tick := time.Tick(20 * time.Millisecond); ; <-tick {
		var both bool
		if err := c.admin.QueryRow("SELECT COUNT(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&both); err != nil {
			tb.Fatal(err)
		}
		if both {
			return r
		}
	}
}

// Promote makes a replica accept changes.
func (c *Cluster) Promote(tb testing.TB) {
	tb.Helper()
	c.control(tb, "promote")
}

// Lock locks a table of a database until unlock is called.
func Lock(tb testing.TB, url, table string) (unlock func()) {
	tb.Helper()
	d, err := sql.Open("pgx", url)
	if err != nil {
		tb.Fatal(err)
	}
	tx, err := d.BeginTx(context.WithoutCancel(tb.Context()), nil)
	if err == nil {
		_, err = tx.Exec("LOCK TABLE " + table)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), d.Close()); err != nil {
			tb.Error(err)
		}
	}
}

// Few returns two urls of an empty database: one that allows n connections, and one without a limit.
func Few(tb testing.TB, n int) (few, all string) {
	tb.Helper()
	c, name := database(tb, "template0")
	c.Exec(tb, "CREATE ROLE "+name+" LOGIN")
	c.Exec(tb, "ALTER DATABASE "+name+" OWNER TO "+name)
	c.Exec(tb, fmt.Sprintf("ALTER DATABASE %s CONNECTION LIMIT %d", name, n))
	all = c.url(name)
	return strings.Replace(all, "postgres@", name+"@", 1), all
}
