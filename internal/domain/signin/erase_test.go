package signin_test

import (
	"context"
	"sync"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A link that is made while its user is being erased does not keep their address.
func TestLinkBesideErasing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.join("ada@x.example", false, false)
		made := make(chan error, 1)
		link := sync.OnceFunc(func() {
			go func() {
				_, _, err := r.Link(t.Context(), "ada@x.example")
				made <- err
			}()
		})
		orgs := r.Organizations
		orgs.UserErasers = append(orgs.UserErasers, r.EraseUser, func(ctx context.Context, tx *db.Tx, _ activity.Person) error {
			if _, err := db.One[int](ctx, tx, nil, `SELECT 1`); err != nil { // the rows are deleted by then
				return err
			}
			link()
			return dbtest.AwaitWaiting(t.Context(), r.DB, 1, made)
		})
		if _, err := orgs.EraseUser(t.Context(), "ada@x.example"); err != nil {
			t.Fatal(err)
		}
		if err := <-made; !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
		if n := r.count("signin_links"); n != 0 {
			t.Errorf("%d links are left", n)
		}
	})
}
