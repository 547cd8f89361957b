package db_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
)

// notes is the appender of a table that a test makes.
var notes = db.NewAppender("notes", "name", "item")

const makeNotes = `CREATE TABLE notes (name TEXT NOT NULL, item TEXT NOT NULL)`

// Rows that are put off are all there in the end, and none of a transaction that fails.
func TestAppend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, long := range []int{0, 500} { // some of the long ones do not wait for the commit
			t.Run(strconv.Itoa(long), func(t *testing.T) { //nolint:paralleltest // the table is made anew
				exec(t, d, makeNotes)
				atOnce(t, d, func(tx *db.Tx, i int) error {
					for j := range i % 40 {
						if err := notes.Append(t.Context(), tx, fmt.Sprintf("%d.%d", i, j), strings.Repeat("x", i%11*j*long)); err != nil {
							return err
						}
					}
					return nil
				})
				want := map[string]int{}
				for i := range 200 {
					for j := range i % 40 {
						if i%3 != 0 {
							want[fmt.Sprintf("%d.%d", i, j)] = i % 11 * j * long
						}
					}
				}
				type note struct {
					name string
					size int
				}
				got, err := db.All(t.Context(), d, func(n *note) []any { return []any{&n.name, &n.size} }, `SELECT name, LENGTH(item) FROM notes`)
				if err != nil || len(got) != len(want) {
					t.Errorf("%d notes, want %d; %v", len(got), len(want), err)
				}
				for _, n := range got {
					if size, ok := want[n.name]; !ok || n.size != size {
						t.Errorf("%s has %d bytes, want %d, %v", n.name, n.size, size, ok)
					}
				}
				exec(t, d, `DROP TABLE notes`)
			})
		}
	})
}

// queued has transactions wait for one another on SQLite, so that they share a commit.
func queued(t *testing.T, d *db.DB, fns ...func(tx *db.Tx) error) []error {
	t.Helper()
	errs := make([]error, len(fns))
	began, end := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := d.InTx(t.Context(), func(*db.Tx) error {
			close(began)
			<-end
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-began
	for i, fn := range fns {
		all.Go(func() { errs[i] = d.InTx(t.Context(), fn) })
		synctest.Wait()
	}
	close(end)
	all.Wait()
	return errs
}

// shared runs test in a bubble, with a database on SQLite that has notes.
func shared(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
		exec(t, d, makeNotes)
		test(t, d)
	})
}

func wantNotes(t *testing.T, d *db.DB, want ...string) {
	t.Helper()
	got, err := db.All(t.Context(), d, db.Value[string], `SELECT name || ':' || SUBSTR(item, 1, 9) FROM notes ORDER BY rowid`)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A row that cannot be stored is the fault of its transaction alone, whether it waits for
// the commit or others are too long to.
func TestAppendBadRow(t *testing.T) {
	t.Parallel()
	for _, bad := range []any{nil, 1.5} {
		for _, size := range []int{1, 70_000} {
			shared(t, func(t *testing.T, d *db.DB) {
				note := func(name string, item any) func(*db.Tx) error {
					return func(tx *db.Tx) error { return notes.Append(t.Context(), tx, name, item) }
				}
				errs := queued(t, d, note("a", "1"), note("bad", bad), note("b", strings.Repeat("2", size)), note("c", "3"))
				if errs[1] == nil || errors.Join(errs[0], errs[2], errs[3]) != nil {
					t.Errorf("%v: %v", bad, errs)
				}
				wantNotes(t, d, "a:1", "b:"+strings.Repeat("2", min(size, 9)), "c:3")
			})
		}
	}
}

func TestAppendWidth(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, values := range [][]any{{}, {"a"}, {"a", "b", "c"}} {
			if err := d.InTx(t.Context(), func(tx *db.Tx) error { return notes.Append(t.Context(), tx, values...) }); err == nil {
				t.Errorf("%d values are a row", len(values))
			}
		}
	})
}

// The rows of two tables keep apart, and in order.
func TestAppendToTwoTables(t *testing.T) {
	t.Parallel()
	shared(t, func(t *testing.T, d *db.DB) {
		swapped := db.NewAppender("notes", "item", "name")
		var fns []func(*db.Tx) error
		var want []string
		for i := range 40 {
			want = append(want, fmt.Sprintf("name%d:item", i))
			fns = append(fns, func(tx *db.Tx) error {
				if i%7 < 3 {
					return swapped.Append(t.Context(), tx, "item", fmt.Sprintf("name%d", i))
				}
				return notes.Append(t.Context(), tx, fmt.Sprintf("name%d", i), "item")
			})
		}
		if err := errors.Join(queued(t, d, fns...)...); err != nil {
			t.Error(err)
		}
		wantNotes(t, d, want...)
	})
}

// A row may have the id of one that was inserted before it, whoever else inserts meanwhile
// and however long it is.
func TestAppendInsertedID(t *testing.T) {
	t.Parallel()
	note := func(ctx context.Context, tx *db.Tx, now time.Time, i int) error {
		var id int64
		if err := db.InsertLater(ctx, tx, &id, makeUser, strconv.Itoa(i), false, now); err != nil {
			return err
		}
		for _, size := range []int{1, 35_000, 2} {
			if err := notes.Append(ctx, tx, fmt.Sprintf("%d %s", i, strings.Repeat("x", size)), db.InsertedID("users")); err != nil {
				return err
			}
		}
		return nil
	}
	want := func(t *testing.T, d *db.DB, users int) {
		t.Helper()
		n, err := db.One(t.Context(), d, db.Value[int],
			`SELECT COUNT(*) FROM notes n JOIN users u ON CAST(u.id AS TEXT) = n.item AND n.name LIKE u.email || ' %'`)
		if err != nil || n != 3*users {
			t.Errorf("%d notes have the id of their user, want %d; %v", n, 3*users, err)
		}
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, makeNotes)
		atOnce(t, d, func(tx *db.Tx, i int) error { return note(t.Context(), tx, d.Now(), i) })
		want(t, d, 133)
	})
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		shared(t, func(t *testing.T, d *db.DB) {
			var fns []func(*db.Tx) error
			for i := range 10 {
				fns = append(fns, func(tx *db.Tx) error { return note(t.Context(), tx, d.Now(), i) })
			}
			if err := errors.Join(queued(t, d, fns...)...); err != nil {
				t.Error(err)
			}
			want(t, d, 10)
		})
	})
}
