package db_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

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

// A row may have the id of one that was inserted before it, whoever else inserts meanwhile.
func TestAppendInsertedID(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, makeNotes)
		atOnce(t, d, func(tx *db.Tx, i int) error {
			var id int64
			if err := db.InsertLater(t.Context(), tx, &id, makeUser, strconv.Itoa(i), false, d.Now()); err != nil {
				return err
			}
			return notes.Append(t.Context(), tx, strconv.Itoa(i), db.InsertedID("users"))
		})
		n, err := db.One(t.Context(), d, db.Value[int],
			`SELECT COUNT(*) FROM notes n JOIN users u ON CAST(u.id AS TEXT) = n.item AND u.email = n.name`)
		if err != nil || n != 133 {
			t.Errorf("%d notes have the id of their user, want 133; %v", n, err)
		}
	})
}
