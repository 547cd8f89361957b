package db_test

import (
	"context"
	"strconv"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

func TestSome(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i := range 5 {
			dbtest.Exec(t, d, makeUser, strconv.Itoa(i), false, d.Now())
		}
		three := func(int) int { return 3 }
		for budget, want := range map[int]int{0: 1, 3: 2, 11: 4, 12: 5, 100: 5} {
			some, more, err := db.Some[int](t.Context(), d, nil, three, budget, `SELECT id FROM users ORDER BY id`)
			if err != nil || len(some) != want || more != (want < 5) {
				t.Errorf("budget %d: %v, more %t, %v; want %d rows", budget, some, more, err, want)
			}
		}
	})
}

// Rows after the budget stay on the server: they may be a gigabyte. A sequence counts the rows that were generated. There
// are more pages that end early than connections.
func TestSomeLeavesTheRest(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	const pages, rows = 30, 1000
	for page := range pages {
		some, more, err := db.Some[string](t.Context(), d, nil, func(s string) int { return len(s) }, 0, `
			SELECT repeat('x', 1000000) || nextval('users_id_seq') FROM generate_series(1, $1)`, rows)
		if err != nil || len(some) != 1 || !more {
			t.Fatalf("%d rows, more %t, %v", len(some), more, err)
		}
		made, err := db.One[int](t.Context(), d, nil, `SELECT last_value FROM users_id_seq`)
		if err != nil || made > (page+1)*rows/2 {
			t.Fatalf("page %d: %d rows made in all, %v", page, made, err)
		}
	}
}

// In a transaction or view, later queries still work.
func TestSomeInATransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		// More rows than can be in transit at once.
		const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n`
		askTwice := func(_ context.Context, q db.Querier) error {
			for range 2 {
				_, more, err := db.Some[int](t.Context(), q, nil, func(int) int { return 1 }, 0, many)
				if err != nil {
					return err
				}
				if !more {
					t.Error("nothing is left")
				}
			}
			return nil
		}
		if err := d.View(t.Context(), askTwice); err != nil {
			t.Error(err)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return askTwice(ctx, tx) }); err != nil {
			t.Error(err)
		}
	})
}
