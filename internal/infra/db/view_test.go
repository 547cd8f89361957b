package db_test

import (
	"context"
	"errors"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A view does not see what others commit meanwhile, and its connection is usable after an error.
func TestView(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const countUsers = `SELECT COUNT(*) FROM users`
		failed := errors.New("failed")
		for want := range 30 {
			err := d.View(t.Context(), func(ctx context.Context, q db.Querier) error {
				for look := range 2 {
					if n, err := db.One[int](t.Context(), q, nil, countUsers); err != nil || n != want {
						t.Errorf("look %d: %d users, want %d, %v", look, n, want, err)
					}
					if look == 0 {
						dbtest.Exec(t, d, makeUser, string(rune('a'+want)), false, d.Now())
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

// If the caller's context ends between two statements, the second is not run.
func TestViewOfSomebodyGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := d.View(ctx, func(ctx context.Context, q db.Querier) error {
			if _, err := db.One[int](ctx, q, nil, `SELECT 1`); err != nil {
				t.Error(err)
			}
			cancel()
			_, err := db.One[int](ctx, q, nil, `SELECT 1`)
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}
