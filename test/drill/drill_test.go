//go:build drill

package drill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	api "foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

// long makes drills longer: DRILL=long.
var long = os.Getenv("DRILL") == "long"

// times returns how often something happens in a drill, or in a long one.
func times(short, longer int) int {
	if long {
		return longer
	}
	return short
}

// fault is a failure that happens while clients change things.
type fault struct {
	name        string
	fleet       func(t *testing.T) *fleet
	short, long int  // how often it happens, in a drill and in a long one
	again       int  // how many mails may be sent again, each time
	strict      bool // no request may fail
	happens     func(t *testing.T, f *fleet, l *load, round int)
}

// atOnce is how many mails a server sends at a time.
const atOnce = 16

const soakTime = 10 * time.Minute

var faults = []fault{ // the longest ones first
	{"SQLite, a soak", onSQLite, 0, 1, 0, true, soak},
	{"PostgreSQL, a soak", onPostgres(3), 0, 1, 0, true, soak},
	{"SQLite, killed", onSQLite, 15, 100, atOnce, false, killed},
	{"SQLite, its file away", onSQLite, 2, 20, 0, false, fileAway},
	{"SQLite, images", onSQLite, 1, 10, atOnce, false, imageOfSQLite},
	{"PostgreSQL, servers killed", onPostgres(1), 6, 100, atOnce, false, killed},
	{"PostgreSQL, away", onCluster(1), 4, 40, atOnce, false, postgresAway},
	{"PostgreSQL, images", onCluster(1), 0, 10, 0, true, imageOfPostgres},
	{"PostgreSQL, failover", onCluster(2), 1, 5, atOnce, false, failover},
	{"rolling restarts", onPostgres(3), 3, 30, 0, true, restarted},
	{"a locked table", onPostgres(2), 1, 5, 0, false, locked},
	{"few connections", onFew, 1, 10, 0, true, nothing},
	{"silent mail servers", onSQLite, 1, 5, atOnce, false, silentMail},
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, x := range faults {
		n := times(x.short, x.long)
		if n == 0 {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			f := x.fleet(t)
			l := f.load()
			end := l.start()
			defer end() // also if the test is aborted
			for round := range n {
				l.await(t, done, 50+rand.Int64N(100))
				x.happens(t, f, l, round)
			}
			l.await(t, done, 50) // it has recovered
			end()
			for _, check := range l.images {
				l.wrong = append(l.wrong, check()...)
			}
			for _, r := range l.requests {
				if x.strict && r.verdict != done && r.kind.verb != "accept" {
					l.sees("%s %s %s failed: %d", r.id, r.kind.verb, r.kind.what, r.status)
				}
			}
			f.report(t, l, f.check(t, l, x.again*n))
		})
	}
}

func onSQLite(t *testing.T) *fleet { return newFleet(t, right(), "", 1) }

func onPostgres(servers int) func(t *testing.T) *fleet {
	return func(t *testing.T) *fleet { return newFleet(t, right(), dbtest.Empty(t), servers) }
}

// onCluster starts servers on their own PostgreSQL, behind a relay.
func onCluster(servers int) func(t *testing.T) *fleet {
	return func(t *testing.T) *fleet {
		cluster := dbtest.NewCluster(t)
		relay, url := cluster.Relay(t)
		f := newFleet(t, right(), url, servers)
		f.cluster, f.relay = cluster, relay
		return f
	}
}

// some is a random duration in which things happen.
func some() time.Duration { return 100*time.Millisecond + rand.N(400*time.Millisecond) }

func killed(t *testing.T, f *fleet, _ *load, _ int) {
	f.kill(0)
	f.start(t, 0)
}

func fileAway(t *testing.T, f *fleet, l *load, _ int) {
	path := filepath.Join(f.dir, "foyer.db")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	f.await(t, 0, false)
	l.await(t, refused, 20)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	f.await(t, 0, true)
}

// postgresAway makes PostgreSQL unreachable, in a different way each round.
func postgresAway(t *testing.T, f *fleet, l *load, round int) {
	before := l.ended[unknown].Load()
	switch round % 4 {
	case 0:
		f.relay.Cut()
		l.await(t, refused, 20)
		f.relay.Mend()
	case 1: // it answers into the void
		f.relay.Silent.Store(true)
		<-f.relay.Heard
		time.Sleep(some())
		f.relay.Cut()
		f.relay.Silent.Store(false)
		f.relay.Mend()
	case 2:
		f.cluster.Stop(t)
		l.await(t, refused, 20)
		f.cluster.Start(t)
	case 3:
		f.cluster.Kill(t)
		l.await(t, refused, 20)
		f.cluster.Start(t)
	}
	f.await(t, 0, true)
	// Clients learn whether each request happened, except for commits that were in flight.
	if unsure := l.ended[unknown].Load() - before; unsure > 2*clients {
		t.Errorf("%d requests may have happened or not", unsure)
	}
}

func failover(t *testing.T, f *fleet, l *load, _ int) {
	replica := f.cluster.Replica(t)
	l.await(t, done, 50)
	f.cluster.Kill(t)
	replica.Promote(t)
	f.relay.To(replica)
	f.relay.Cut() // connections that hang at the old one
	f.relay.Mend()
	f.cluster = replica
	for i := range f.servers {
		f.await(t, i, true)
	}
}

func restarted(t *testing.T, f *fleet, _ *load, round int) {
	i := round % len(f.servers)
	f.stop(t, i)
	f.start(t, i)
}

// locked has somebody at a prompt hold a table lock: requests that do not need the table go on.
func locked(t *testing.T, f *fleet, l *load, round int) {
	unlock := dbtest.Lock(t, f.url, "plugins")
	defer unlock()
	c := l.client(fmt.Sprintf("beside-%d", round))
	for range 20 {
		for _, k := range []kind{createInvite, deleteInvite} {
			if r := c.step(k); r.verdict != done {
				t.Fatalf("%s %s %s failed: %d", r.id, k.verb, k.what, r.status)
			}
		}
	}
}

// onFew starts three servers on a database that allows fewer connections than they want.
func onFew(t *testing.T) *fleet {
	few, all := dbtest.Few(t, 12)
	f := newFleet(t, right(), few+"&pool_max_conns=5", 3)
	f.env = append(f.env, "FOYER_DATABASE="+all) // for commands
	return f
}

func nothing(t *testing.T, _ *fleet, l *load, _ int) { l.await(t, done, 1000) }

// silentMail lets as many connections to the mail server hang as a server opens at a time: other mails are sent
// meanwhile.
func silentMail(t *testing.T, f *fleet, l *load, _ int) {
	f.post.Silent.Store(true)
	eventually(t, "all mail waits", func() bool { return f.post.Connections() >= atOnce })
	l.await(t, done, 100)
	f.post.Silent.Store(false)
	sent := len(f.smtp.Mails())
	eventually(t, "mails are sent", func() bool { return len(f.smtp.Mails()) >= sent+2*atOnce })
	if n := f.post.Connections(); n < atOnce/2 {
		t.Errorf("they went once %d had been given up", atOnce-n)
	}
	f.post.Cut()
	f.post.Mend()
}

// imageOfSQLite copies the files at one moment, as a power failure would leave them.
func imageOfSQLite(t *testing.T, f *fleet, l *load, _ int) {
	at, dir := time.Now(), t.TempDir()
	pid := f.servers[0].cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("cp", "-a", f.dir+"/.", dir).CombinedOutput()
	if err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.images = append(l.images, func() []string { return f.checkImage(t, l, at, "", dir) })
}

func imageOfPostgres(t *testing.T, f *fleet, l *load, _ int) {
	at := time.Now()
	image := f.cluster.Image(t)
	l.images = append(l.images, func() []string { return f.checkImage(t, l, at, image.URL(), t.TempDir()) })
}

// checkImage starts a server on a copy. It must have all that was acknowledged when the copy was made.
func (f *fleet) checkImage(t *testing.T, l *load, at time.Time, database, dir string) []string {
	t.Helper()
	image := prepare(t, f.program, database, dir, f.key, 1)
	image.start(t, 0)
	defer image.kill(0)
	_, _, wrong := image.compare(t, l.asOf(at))
	return wrong
}

// soak runs for a long time, in which the memory of the servers must not keep growing.
func soak(t *testing.T, f *fleet, _ *load, _ int) {
	time.Sleep(soakTime)
	for _, p := range f.servers {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		var kb int
		if _, err := fmt.Sscan(rest, &kb); err != nil || kb > 300<<10 {
			t.Errorf("a server has %d MB: %v", kb>>10, err)
		}
		t.Logf("a server has %d MB", kb>>10)
	}
}

// Of several requests with the same Idempotency-Key to two servers, one makes the change; the others get its answer or
// are told to wait.
func TestTwins(t *testing.T) {
	t.Parallel()
	f := onPostgres(2)(t)
	l := f.load()
	c, err := api.New(f.at(0), f.key)
	if err != nil {
		t.Fatal(err)
	}
	for round := range times(10, 100) {
		name := fmt.Sprintf("twins-%03d", round)
		answers := make([]answer, 20)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = l.client(name).ask(i, "", "POST", paths["app"], fmt.Sprintf(`{"name":%q}`, name), "Idempotency-Key", name)
			})
		}
		all.Wait()
		first := slices.IndexFunc(answers, func(a answer) bool { return a.status == http.StatusCreated && !a.replayed })
		for _, a := range answers {
			if first < 0 || a.status != http.StatusConflict && string(a.body) != string(answers[first].body) || a.status == http.StatusConflict && a.retryAfter == "" {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		found, err := c.Organization(api.Current).ListApps(t.Context(), api.AppFilter{Search: name}, api.Range{})
		if err != nil || found.Count != 1 {
			t.Errorf("%s: %d were made, %v", name, found.Count, err)
		}
	}
}

// A backup that is taken under load is complete, and is refused once one byte has changed.
func TestBackups(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	l := f.load()
	end := l.start()
	l.await(t, done, 200)
	backup := filepath.Join(t.TempDir(), "backup.db")
	_, err := f.run("backup", backup)
	end()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	other := &fleet{program: f.program, env: []string{"FOYER_DATA_DIR=" + t.TempDir()}}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	for range times(20, 200) {
		changed := append([]byte(nil), text...)
		if cut := rand.N(4); cut > 0 {
			changed = changed[:len(changed)-cut]
		} else {
			changed[rand.N(len(changed))] ^= 1 << rand.N(8)
		}
		if err := os.WriteFile(damaged, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := other.run("restore", damaged, "--force"); err == nil {
			t.Fatal("a damaged backup was restored")
		}
	}
	if _, err := other.run("restore", backup, "--force"); err != nil {
		t.Error("the backup itself is refused", err)
	}
}

// The next start finishes a migration that was killed.
func TestMigrateKilled(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"SQLite": func(*testing.T) string { return "" }, "PostgreSQL": func(t *testing.T) string { return dbtest.Empty(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := prepare(t, right(), database(t), t.TempDir(), access.NewKey(), 1)
			killed := 0
			for wait := 5 * time.Millisecond; ; wait += wait / 4 {
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				cmd := exec.CommandContext(ctx, f.program, "migrate")
				cmd.Env = f.env
				err := cmd.Run()
				cancel()
				if err == nil {
					break
				}
				killed++
			}
			t.Logf("killed %d times", killed)
			f.start(t, 0)
			l := f.load()
			end := l.start()
			l.await(t, done, 50)
			end()
			f.report(t, l, f.check(t, l, 0))
		})
	}
}

// TestWrongPrograms shows that a drill can fail: each of these programs has a bug.
func TestWrongPrograms(t *testing.T) {
	t.Parallel()
	for name := range wrongs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, build(t, name), "", 1)
			l := f.load()
			end := l.start()
			l.await(t, done, 800)
			end()
			wrong := f.check(t, l, 0)
			if len(wrong) == 0 {
				t.Error("the drill finds nothing wrong")
			} else {
				t.Logf("found, among %d: %s", len(wrong), wrong[0])
			}
		})
	}
}
