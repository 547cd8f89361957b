package db_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/base/page"
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

// If the caller's context ends between two statements, the second is not run.
func TestViewOfSomebodyGone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := d.View(ctx, func(ctx context.Context, q db.Querier) error {
			if _, err := db.One(ctx, q, db.Value[int], `SELECT 1`); err != nil {
				t.Error(err)
			}
			cancel()
			_, err := db.One(ctx, q, db.Value[int], `SELECT 1`)
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
}

// Rows that are added between the count and the items of a page are in neither.
func TestPage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add := func(email string) { exec(t, d, makeUser, email, false, d.Now()) }
		add("a")
		add("b")
		read := func(p page.Page) page.Found[string] {
			found, err := db.Page(t.Context(), d, p, func(ctx context.Context, q db.Querier) (int, error) {
				n, err := db.One(ctx, q, db.Value[int], `SELECT COUNT(*) FROM users`)
				add("new " + strconv.Itoa(n))
				return n, err
			}, func(ctx context.Context, q db.Querier) ([]string, error) {
				return db.All(ctx, q, db.Value[string], `SELECT email FROM users ORDER BY id LIMIT $1 OFFSET $2`, p.Limit, p.Offset)
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
