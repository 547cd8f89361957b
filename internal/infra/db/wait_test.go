package db_test

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// However many transactions wait for a lock, queries get answers.
func TestQuestionsBesideWaiting(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, beside := dbtest.Open(t, url), dbtest.Open(t, url)
		locked := func(within func()) {
			if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				db.Lock(tx, "x")
				_, err := db.One[int](t.Context(), tx, nil, `SELECT 1`)
				within()
				return err
			}); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		held, end := make(chan struct{}), make(chan struct{})
		hold := sync.OnceFunc(func() { close(held); <-end })
		all.Go(func() { locked(hold) })
		<-held
		for range 2 * 20 {
			all.Go(func() { locked(func() {}) })
		}
		defer all.Wait()
		defer close(end)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for waiting := 0; strings.HasPrefix(url, "postgres:") && waiting < 9; {
			var err error
			waiting, err = dbtest.Waiting(ctx, beside)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.One[int](ctx, d, nil, `SELECT 1`); err != nil {
			t.Error(err)
		}
		canceled, cancelNow := context.WithCancel(ctx)
		cancelNow()
		if err := d.InTx(canceled, func(context.Context, *db.Tx) error { return nil }); err == nil {
			t.Error("a transaction was begun for nobody")
		}
	})
}

// A query whose context ends while all connections are in use does not wait longer, and takes none.
func TestQueryThatFindsNoConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	var within func(more int) error
	within = func(more int) error {
		return d.View(t.Context(), func(context.Context, db.Querier) error {
			if more > 1 {
				return within(more - 1)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			one, _ := ask(ctx, d)
			return one
		})
	}
	wantUnavailable(t, within(max(4, 2*runtime.GOMAXPROCS(0))), "deadline exceeded")
	if one, inTx := ask(t.Context(), d); one != nil || inTx != nil {
		t.Error(one, inTx)
	}
}

// awaitQueued returns once n callers wait for a connection or their turn.
func awaitQueued(d *db.DB, n int) {
	for waiting := 0; waiting < n; runtime.Gosched() {
		_, waiting, _ = d.Stats()
	}
}

// However many slow transactions of one user wait, another user's has its turn soon.
func TestUsersTakeTurns(t *testing.T) {
	t.Parallel()
	const slow = `SELECT COUNT(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT i FROM n) n`
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		of := func(user int64) context.Context {
			r := inflight.New(1 << 20).Begin(nil)
			r.Of(user)
			return inflight.With(t.Context(), r)
		}
		many, cancel := context.WithCancel(of(1))
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		const transactions = 40
		var done atomic.Int64
		for range transactions {
			all.Go(func() {
				_ = d.InTx(many, func(ctx context.Context, tx *db.Tx) error {
					_, err := db.One[int](ctx, tx, nil, slow)
					done.Add(1)
					return err
				})
			})
		}
		awaitQueued(d, transactions/2)
		if _, inTx := ask(of(2), d); inTx != nil || done.Load() > transactions/2 {
			t.Errorf("%v, after %d of another user", inTx, done.Load())
		}
	})
}
