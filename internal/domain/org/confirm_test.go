package org_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A caller who has lost the right to change settings changes none, even if their transaction runs again because another
// one in the same commit failed.
func TestRightLostInASharedCommit(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	s := org.Service{DB: d, Keys: access.NewKeys(d)}
	o, _ := newOrg(t, s, "Acme")
	join(t, s, o.ID, "eve@x.example", access.Owner)
	ada := join(t, s, o.ID, "ada@x.example", access.Owner)
	caller := access.Caller{UserID: ada.User.ID, Level: access.Owner, Scope: access.All, Organization: access.Organization{ID: o.ID}}
	refused := errors.New("refused")
	turns := []func() error{
		func() error {
			_, err := s.SetLevel(t.Context(), o.ID, "ada@x.example", access.Member)
			return err
		},
		func() error {
			return s.Keys.Change(t.Context(), func(context.Context, *db.Tx) error { return refused })
		},
		func() error {
			_, err := s.Set(t.Context(), caller, o.ID, org.Settings{Name: new("Taken over")})
			return err
		},
	}
	var waiting sync.WaitGroup
	got := make([]error, len(turns))
	line := sync.OnceFunc(func() {
		for i, turn := range turns {
			waiting.Go(func() { got[i] = turn() })
			for n := 0; n <= i; _, n, _ = d.Stats() {
				runtime.Gosched()
			}
		}
	})
	err := d.InTx(t.Context(), func(context.Context, *db.Tx) error { line(); return nil })
	waiting.Wait()
	if err != nil || got[0] != nil || !errors.Is(got[1], refused) || !errors.Is(got[2], access.ErrChanged) {
		t.Errorf("%v, %v", err, got)
	}
	if now, err := s.Get(t.Context(), o.ID); err != nil || now.Name != "Acme" {
		t.Errorf("it is called %q, %v", now.Name, err)
	}
}
