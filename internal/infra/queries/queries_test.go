package queries_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/queries"
)

// Old rows are deleted in transactions of 500, and each commit stays whatever happens to the next.
func TestDeleteOld(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, `CREATE TABLE old (item BIGINT PRIMARY KEY)`)
		dbtest.Exec(t, d, `CREATE TABLE kept (item BIGINT REFERENCES old (item))`)
		dbtest.Exec(t, d, `INSERT INTO old (item) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1202) SELECT i FROM n`)
		dbtest.Exec(t, d, `INSERT INTO kept (item) VALUES (1100)`)
		left := func() int {
			n, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM old`)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if err := queries.DeleteOld(t.Context(), d, `old`, `item`, `item < $1 ORDER BY item`, 1202); !errors.Is(err, db.ErrReference) || left() != 202 {
			t.Errorf("%d are left, %v", left(), err)
		}
		dbtest.Exec(t, d, `DELETE FROM kept`)
		if err := queries.DeleteOld(t.Context(), d, `old`, `item`, `item < $1 ORDER BY item`, 1202); err != nil || left() != 1 {
			t.Errorf("%d are left, %v", left(), err)
		}
	})
}

// A row that is renewed meanwhile stays, and holds up the deletion of no other.
func TestDeleteOldSkipsWhatIsLocked(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t)) // on SQLite, no transaction locks rows
	dbtest.Exec(t, d, `CREATE TABLE old (item BIGINT PRIMARY KEY, used BIGINT)`)
	dbtest.Exec(t, d, `INSERT INTO old (item, used) VALUES (1, 1), (2, 1)`)
	done := make(chan error, 1)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `UPDATE old SET used = 2 WHERE item = 1`); err != nil {
			return err
		}
		go func() { done <- queries.DeleteOld(t.Context(), d, `old`, `item`, `used < $1 ORDER BY used`, 2) }()
		if err := dbtest.AwaitWaiting(t.Context(), d, 1, done); err != nil {
			return err
		}
		if n, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM old`); err != nil || n != 1 {
			t.Errorf("%d are left, %v", n, err)
		}
		return nil
	})
	left, failed := db.All[int](t.Context(), d, nil, `SELECT item FROM old`)
	if err := errors.Join(err, <-done, failed); err != nil || !slices.Equal(left, []int{1}) {
		t.Errorf("left: %d, %v", left, err)
	}
}

// Rows that are added between the count and the items of a page are in neither.
func TestPage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)`)
		add := func(name string) {
			dbtest.Exec(t, d, `INSERT INTO items (id, name) SELECT COUNT(*), $1 FROM items`, name)
		}
		add("a")
		add("b")
		read := func(p page.Page) page.Found[string] {
			found, err := queries.Page(t.Context(), d, p, func(ctx context.Context, q db.Querier) (int, error) {
				n, err := db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM items`)
				add("new " + strconv.Itoa(n))
				return n, err
			}, func(ctx context.Context, q db.Querier) ([]string, error) {
				return db.All[string](ctx, q, nil, `SELECT name FROM items ORDER BY id LIMIT $1 OFFSET $2`, p.Limit, p.Offset)
			})
			if err != nil {
				t.Error(err)
			}
			return found
		}
		for _, test := range []struct {
			p    page.Page
			want page.Found[string]
		}{
			{page.First, page.Found[string]{Items: []string{"a", "b"}, Count: 2}},
			{page.Page{Limit: 1, Offset: 1}, page.Found[string]{Items: []string{"b"}, Count: 3, More: true}},
			{page.Page{Limit: 1, Offset: 4}, page.Found[string]{Count: 4}},
		} {
			if diff := cmp.Diff(test.want, read(test.p)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", test.p, diff)
			}
		}
	})
}
