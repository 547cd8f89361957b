package db_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

const (
	makeCounts = `CREATE TABLE counts (name TEXT PRIMARY KEY, n BIGINT NOT NULL CHECK (n >= 0))`
	addToCount = `INSERT INTO counts (name, n) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET n = counts.n + $2`
)

// An addition that fails undoes its own transaction, and none that shares the commit.
func TestAddThatFails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, makeCounts)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				fails := i%10 == 0
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					db.Add(tx, addToCount, []any{"all"}, 1)
					if fails {
						db.Add(tx, addToCount, []any{strconv.Itoa(i)}, -1)
					}
					return db.Exec(ctx, tx, makeUser, strconv.Itoa(i), false, d.Now())
				})
				if (err != nil) != fails {
					t.Errorf("transaction %d: %v", i, err)
				}
			})
		}
		all.Wait()
		wantUsers(t, d, 90)
		if n, err := db.One[int](t.Context(), d, nil, `SELECT SUM(n) FROM counts`); err != nil || n != 90 {
			t.Errorf("%d are counted, %v; want 90", n, err)
		}
	})
}

// All transactions add to rows in the same order: two that add in different orders would wait for each other.
func TestOrderOfAdditions(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
	dbtest.Exec(t, d, makeCounts)
	dbtest.Exec(t, d, `INSERT INTO counts (name, n) VALUES ('a', 0), ('b', 0)`)
	const lock = `SELECT n FROM counts WHERE name = $1 FOR UPDATE NOWAIT`
	start, end := dbtest.Meanwhile(t, d, func() error {
		return d.InTx(t.Context(), func(_ context.Context, tx *db.Tx) error {
			db.Add(tx, addToCount, []any{"b"}, 1)
			db.Add(tx, addToCount, []any{"a"}, 1)
			return nil
		})
	})
	err := beside.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.One[int](ctx, tx, nil, lock, "a"); err != nil {
			return err
		}
		start()
		_, err := db.One[int](ctx, tx, nil, lock, "b") // the other has not added to it yet
		return err
	})
	if end(); err != nil {
		t.Error(err)
	}
}
