package db_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A database whose file is removed or replaced accepts no changes and makes no new file; it recovers once the file is
// back.
func TestLostFile(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path+".new", text, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "foyer.db")
			d := dbtest.Open(t, "sqlite:"+path)
			if err := d.Ready(t.Context()); err != nil || d.Lost() != nil {
				t.Fatal(err)
			}
			if err := os.Link(path, path+".kept"); err != nil {
				t.Fatal(err)
			}
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			_, inTx := ask(t.Context(), d)
			wantUnavailable(t, inTx, "removed or replaced")
			if err := d.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
				t.Errorf("ready: %v", err)
			}
			// This takes more readers than have been opened yet.
			err := d.View(t.Context(), func(context.Context, db.Querier) error {
				_, err := db.One[int](context.Background(), d, nil, `SELECT 1`)
				return err
			})
			wantUnavailable(t, err, "removed or replaced")
			if err := os.Rename(path+".kept", path); err != nil {
				t.Fatal(err)
			}
			if one, inTx := ask(t.Context(), d); one != nil || inTx != nil || d.Ready(t.Context()) != nil {
				t.Error(one, inTx)
			}
		})
	}
}

// After a failed change, a database is not ready until a change succeeds or time has passed.
func TestReadyAfterFailure(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	add := func(limit string) error {
		return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := db.Exec(ctx, tx, `PRAGMA max_page_count = `+limit); err != nil {
				return err
			}
			return db.Exec(ctx, tx, makeUser, limit+strings.Repeat("x", 1<<20), false, d.Now())
		})
	}
	wantUnavailable(t, add("1"), "full")
	if err := d.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("ready: %v", err)
	}
	now := d.Now()
	for name, at := range map[string]time.Time{"later": now.Add(time.Minute), "stepped back": now.Add(-time.Hour)} {
		d.Now = func() time.Time { return at }
		if err := d.Ready(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.Now = func() time.Time { return now }
	if err := add("1000000"); err != nil {
		t.Fatal(err)
	}
	if err := d.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// A client that disconnects during the commit of its change says nothing about the database.
func TestReadyAfterHangUp(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t) // on SQLite, callers wait for the commit
	d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
	administer(t, u,
		`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'`,
		`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`)
	err := beside.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `SELECT pg_advisory_xact_lock(1)`); err != nil {
			return err
		}
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		changed := make(chan error, 1)
		go func() {
			changed <- d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return db.Exec(ctx, tx, makeUser, "ada", false, d.Now()) })
		}()
		for n := 0; n == 0 && len(changed) == 0; {
			var err error
			n, err = dbtest.Waiting(t.Context(), beside)
			if err != nil {
				return err
			}
		}
		hangUp()
		if err := <-changed; !errors.Is(err, context.Canceled) {
			t.Errorf("changed: %v", err)
		}
		return d.Ready(t.Context())
	})
	if err != nil {
		t.Error(err)
	}
}

// A database whose lock somebody else holds is not ready, although it can be read.
func TestReadyTakesTheLock(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
	err := beside.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `LOCK TABLE migrations IN EXCLUSIVE MODE`); err != nil {
			return err
		}
		ready, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := d.Ready(ready); !fault.Is(err, fault.Unavailable) {
			t.Errorf("ready: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := d.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// Ready returns in time, although SQLite waits longer for another process to give the lock back.
func TestNotReadyInTime(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "foyer.db")
	d, other := dbtest.Open(t, url), dbtest.Open(t, url)
	dbtest.Exec(t, d, `PRAGMA busy_timeout = 3600000`)
	err := other.InTx(t.Context(), func(context.Context, *db.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return d.Ready(ctx)
	})
	wantUnavailable(t, err, "the database did not answer in time")
	if err := d.Ready(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Who asks while a check is under way shares it: anybody may ask, and each check waits for the disk.
func TestReadyIsSharedWhileItWaits(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
	const asking = 5
	ready, before := make(chan error, asking), dbtest.Statements(d)
	err := beside.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `LOCK TABLE migrations IN EXCLUSIVE MODE`); err != nil {
			return err
		}
		go func() { ready <- d.Ready(t.Context()) }()
		if err := dbtest.AwaitWaiting(t.Context(), beside, 1, ready); err != nil {
			return err
		}
		for range asking - 1 {
			waits := waiting{t.Context(), make(chan struct{}, 100)}
			go func() { ready <- d.Ready(waits) }()
			<-waits.begun
		}
		return nil
	})
	for range asking {
		err = errors.Join(err, <-ready)
	}
	if n := dbtest.Statements(d) - before; err != nil || n != 2 {
		t.Errorf("%d statements, %v; want the 2 of one check", n, err)
	}
}

// waiting tells when somebody begins to wait for its end.
type waiting struct {
	context.Context //nolint:containedctx // it is a context
	begun           chan struct{}
}

func (w waiting) Done() <-chan struct{} {
	w.begun <- struct{}{}
	return w.Context.Done()
}
