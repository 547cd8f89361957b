package db_test

import (
	"errors"
	"testing"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
)

// What others commit meanwhile is not seen, and the connection is as good as new after
// an error.
func TestView(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const countUsers = `SELECT COUNT(*) FROM users`
		failed := errors.New("failed")
		for want := range 30 {
			err := d.View(t.Context(), func(q db.Querier) error {
				for look := range 2 {
					if n, err := db.One(t.Context(), q, db.Value[int], countUsers); err != nil || n != want {
						t.Errorf("look %d: %d users, want %d, %v", look, n, want, err)
					}
					if look == 0 {
						exec(t, d, makeUser, string(rune('a'+want)), false, d.Now())
					}
				}
				return failed
			})
			if !errors.Is(err, failed) {
				t.Fatalf("got %v, want what the function returned", err)
			}
		}
	})
}
