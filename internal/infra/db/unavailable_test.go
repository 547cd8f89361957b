package db_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/queries"
)

// wantUnavailable checks that err tells callers that nothing has changed, and says why in the log.
func wantUnavailable(t *testing.T, err error, why string) {
	t.Helper()
	if !fault.Is(err, fault.Unavailable) || fault.Of(err)[0].RetryAfter <= 0 || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want that the database is unavailable: %s", err, why)
	}
}

// ask runs a query outside and inside a transaction.
func ask(ctx context.Context, d *db.DB) (one, inTx error) {
	_, one = db.One[int](ctx, d, nil, `SELECT 1`)
	inTx = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.One[int](ctx, tx, nil, `SELECT 1`)
		return err
	})
	return one, inTx
}

// A server that is unreachable has done nothing.
func TestAway(t *testing.T) {
	t.Parallel()
	u, hosts := dbtest.Relayed(t, 1)
	d := dbtest.Open(t, u)
	if one, inTx := ask(t.Context(), d); one != nil || inTx != nil {
		t.Fatal(one, inTx)
	}
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.One[int](ctx, tx, nil, `SELECT 1`); err != nil {
			t.Error(err)
		}
		hosts[0].Cut()
		_, err := db.One[int](ctx, tx, nil, `SELECT 1`)
		return err
	})
	wantUnavailable(t, err, "")
	one, inTx := ask(t.Context(), d)
	wantUnavailable(t, one, "")
	wantUnavailable(t, inTx, "")
}

// A View has changed nothing, whenever its connection is lost: before it begins, within it, or at its end.
func TestAwayFromAView(t *testing.T) {
	t.Parallel()
	for when := range 3 {
		u, hosts := dbtest.Relayed(t, 1)
		d := dbtest.Open(t, u)
		cutAt := func(now int) {
			if now == when {
				hosts[0].Cut()
			}
		}
		one, _ := ask(t.Context(), d)
		if one != nil {
			t.Fatal(one)
		}
		cutAt(0)
		err := d.View(t.Context(), func(ctx context.Context, q db.Querier) error {
			cutAt(1)
			_, err := db.One[int](ctx, q, nil, `SELECT 1`)
			cutAt(2)
			return err
		})
		wantUnavailable(t, err, "")
	}
}

// Nobody knows whether a commit without an answer has happened.
func TestSilentCommit(t *testing.T) {
	t.Parallel()
	u, hosts := dbtest.Relayed(t, 1)
	d := dbtest.Open(t, u)
	d.SetPatience(2 * time.Second)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := db.One[int](ctx, tx, nil, `SELECT 1`)
		hosts[0].Silent.Store(true)
		return err
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("got %v", err)
	}
	hosts[0].Silent.Store(false)
}

// Nor does a server that ends the connection during the commit say whether it has happened.
func TestTerminatedCommit(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	d := dbtest.Open(t, u)
	administer(t, u,
		`CREATE FUNCTION terminate() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`,
		`CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION terminate()`)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return db.Exec(ctx, tx, makeUser, "ada", false, d.Now()) })
	if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "terminating connection") {
		t.Errorf("got %v", err)
	}
	if err := d.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "the last change was not kept: ") {
		t.Errorf("ready: %v", err)
	}
}

// If PostgreSQL refuses before the commit, for whatever reason, nothing has changed.
func TestRefusedByPostgres(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
	for why, statements := range map[string][]string{
		"read-only transaction": {`SET TRANSACTION READ ONLY`, `CREATE TABLE x (id INT)`},
		"lock timeout":          {`SET LOCAL lock_timeout = '1ms'`, `LOCK TABLE jobs`},
		"terminating":           {`SET LOCAL idle_in_transaction_session_timeout = '1h'`, `SELECT pg_terminate_backend(pg_backend_pid())`},
		"transaction timeout":   {`DO $$ BEGIN RAISE EXCEPTION 'transaction timeout' USING ERRCODE = '25P04'; END $$`},
		"disk full":             {`DO $$ BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END $$`},
	} {
		err := beside.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := db.Changed(ctx, tx, `LOCK TABLE jobs`); err != nil {
				return err
			}
			refused := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				for _, s := range statements {
					if err := db.Exec(ctx, tx, s); err != nil {
						return err
					}
				}
				return nil
			})
			wantUnavailable(t, refused, why)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(ctx, tx, `SELECT nonsense`)
	})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("a wrong query: %v", err)
	}
}

// If two transactions wait for each other, PostgreSQL ends one of them. That one has changed nothing, and can be retried;
// the other one goes on.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t)) // SQLite has one transaction at a time
	dbtest.Exec(t, d, `CREATE TABLE kept (name TEXT)`)
	keep := func(name string, between func(), locks [2]string) error {
		return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			db.Lock(tx, locks[0])
			if _, err := db.Changed(ctx, tx, `INSERT INTO kept (name) VALUES ($1)`, name); err != nil {
				return err
			}
			between()
			db.Lock(tx, locks[1])
			return nil
		})
	}
	second := make(chan error, 1)
	first := keep("first", func() {
		go func() { second <- keep("second", func() {}, [2]string{"b", "a"}) }()
		if err := dbtest.AwaitWaiting(t.Context(), d, 1, second); err != nil {
			t.Error(err)
		}
	}, [2]string{"a", "b"})
	refused, want := <-second, "first"
	if refused == nil {
		refused, first, want = first, nil, "second"
	}
	if first != nil {
		t.Errorf("both are refused: %v, %v", first, refused)
	}
	wantUnavailable(t, refused, "deadlock detected")
	if kept, err := db.All[string](t.Context(), d, nil, `SELECT name FROM kept`); err != nil || !slices.Equal(kept, []string{want}) {
		t.Errorf("kept %q, %v, want %q", kept, err, want)
	}
	if err := d.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// The same holds for SQLite when there is no room or it is read-only.
func TestRefusedBySQLite(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if err := db.Exec(ctx, tx, `PRAGMA max_page_count = 1`); err != nil { // it keeps its size, but cannot grow
			return err
		}
		return db.Exec(ctx, tx, `INSERT INTO migrations (name) VALUES ($1)`, strings.Repeat("x", 1<<20))
	})
	wantUnavailable(t, err, "full")
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		err := db.Exec(ctx, tx, `PRAGMA query_only = ON`)
		if err == nil {
			err = db.Exec(ctx, tx, `DELETE FROM migrations`)
		}
		return err
	})
	wantUnavailable(t, err, "readonly")
}

// On a full disk SQLite itself ends the transaction. Later statements in it do nothing: they would be committed.
func TestStatementsAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	dbtest.Exec(t, d, makeUser, "a", false, d.Now())
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		full := db.Exec(ctx, tx, `PRAGMA max_page_count = 1`)
		return errors.Join(full,
			db.Exec(ctx, tx, `INSERT INTO migrations (name) VALUES ($1)`, strings.Repeat("x", 1<<20)),
			db.Exec(ctx, tx, `DELETE FROM users`))
	})
	wantUnavailable(t, err, "full")
	wantUsers(t, d, 1)
}

// A database that does not respond in time is unavailable for all kinds of queries.
func TestTooLate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		one, inTx := ask(late, d)
		count := func(ctx context.Context, q db.Querier) (int, error) { return db.One[int](ctx, q, nil, `SELECT 1`) }
		list := func(ctx context.Context, q db.Querier) ([]int, error) {
			return db.All[int](ctx, q, nil, `SELECT 1`)
		}
		_, paged := queries.Page(late, d, page.First, count, list)
		for _, err := range []error{one, inTx, paged} {
			wantUnavailable(t, err, "deadline exceeded")
		}
	})
}
