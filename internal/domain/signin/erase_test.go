package signin_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
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

// Erasing a person leaves others their ways to sign in.
func TestErasingLeavesOthers(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for i, email := range []string{"ada@x.example", "bea@x.example"} {
			r.join(email, false, false)
			r.link(email)
			if err := r.Ask(t.Context(), email, email); err != nil {
				t.Fatal(err)
			}
			account := person(strconv.Itoa(i), email)
			if _, err := r.ByProvider(t.Context(), account, access.SessionDraft{}); err != nil {
				t.Fatal(err)
			}
			account.Subject, account.EmailVerified = "another", false
			if _, err := r.ByProvider(t.Context(), account, access.SessionDraft{}); !fault.Is(err, fault.Denied) {
				t.Error(err)
			}
		}
		orgs := r.Organizations
		orgs.UserErasers = append(orgs.UserErasers, r.EraseUser)
		if _, err := orgs.EraseUser(t.Context(), "ada@x.example"); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"identities", "signin_links", "signin_failures", "signin_requests"} {
			if n := r.count(table); n != 1 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
	})
}
