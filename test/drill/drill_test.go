//go:build drill

package drill

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"foyer/internal/infra/db/dbtest"
)

// long is on for a longer drill: DRILL=long.
var long = os.Getenv("DRILL") == "long"

// times is how often something happens in a drill, and in a long one.
func times(short, longer int) int {
	if long {
		return longer
	}
	return short
}

const clients = 8

func (f *fleet) ready(i int) bool {
	res, err := http.Get(f.url(i) + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// under runs faults while clients change things, and checks what is there at the end.
func (f *fleet) under(t *testing.T, again int, faults func()) *load {
	t.Helper()
	l := &load{t: t, key: f.key, url: f.balanced}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		l.run(clients, stop)
		close(ended)
	}()
	faults()
	time.Sleep(time.Second) // all is well again
	close(stop)
	<-ended
	for i := range f.servers {
		f.await(t, i)
	}
	f.report(t, l, f.check(t, l, again))
	return l
}

// some is a time in which things happen.
func some() time.Duration { return 200*time.Millisecond + rand.N(600*time.Millisecond) }

func TestKills(t *testing.T) {
	t.Parallel()
	program := right()
	kills := times(6, 100)
	for name, database := range map[string]string{"sqlite": "", "postgres": dbtest.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, program, database, 1)
			f.under(t, 16*kills, func() {
				for range kills {
					time.Sleep(some())
					f.kill(0)
					f.start(t, 0)
				}
			})
		})
	}
}

// PostgreSQL's connections are cut, or it says nothing: clients are told so, nearly always
// that nothing has happened.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	url, relays := dbtest.Relayed(t, 1)
	f := newFleet(t, right(), url, 1)
	l := f.under(t, 100, func() {
		for range times(6, 60) {
			time.Sleep(some())
			relays[0].Cut()
			time.Sleep(some())
			relays[0].Mend()
		}
	})
	unsure := 0
	for _, r := range l.requests {
		if r.verdict == unknown {
			unsure++
		}
	}
	if l.refused < 20 || unsure*5 > l.refused {
		t.Errorf("%d requests were told that nothing has happened, %d that it may have", l.refused, unsure)
	}
}

// Three servers, each request at the next one, restarted in turn: no request fails, and what a
// client has seen done on one is there on the others.
func TestRollingRestarts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, right(), dbtest.Postgres(t), 3)
	l := f.under(t, 0, func() {
		for i := range times(3, 12) {
			time.Sleep(some())
			f.stop(t, i%3)
			f.start(t, i%3)
		}
	})
	for _, r := range l.requests {
		if r.verdict != done {
			t.Errorf("%s %s failed: %d", r.id, r.kind, r.status)
		}
	}
}

// A backup that is taken under load is whole, and is refused once a byte of it is another.
func TestBackups(t *testing.T) {
	t.Parallel()
	f := newFleet(t, right(), "", 1)
	var backup string
	f.under(t, 0, func() {
		time.Sleep(time.Second)
		backup = filepath.Join(t.TempDir(), "backup.db")
		f.command(t, "backup", backup)
	})
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
		if other.restores(damaged) {
			t.Fatal("a damaged backup was restored")
		}
	}
	if !other.restores(backup) {
		t.Error("the backup itself is refused")
	}
}

// TestWrongPrograms shows that a drill can fail: each of these does something wrong.
func TestWrongPrograms(t *testing.T) {
	t.Parallel()
	for name := range wrongs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, build(t, name), "", 1)
			l := &load{t: t, key: f.key, url: f.url}
			stop := make(chan struct{})
			time.AfterFunc(2*time.Second, func() { close(stop) })
			l.tolerant = true
			l.run(clients, stop)
			wrong := f.check(t, l, 0)
			if len(wrong) == 0 {
				t.Error("the drill finds nothing wrong")
			} else {
				t.Logf("found, among %d: %s", len(wrong), wrong[0])
			}
		})
	}
}
