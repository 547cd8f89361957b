package org_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Nobody keeps another from being erased by having the address that they would get.
func TestAddressOfTheErasedIsNobodys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		o, err := s.Create(t.Context(), "Acme")
		if err != nil {
			t.Fatal(err)
		}
		join := func(email string) (m org.Membership) {
			t.Helper()
			err := s.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				m, err = s.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: o.ID, User: org.User{Email: email}, Level: access.Member})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		bob := join("bob@x.example").User
		join(fmt.Sprintf("erased-%d@foyer.invalid", bob.ID))
		if _, err := s.EraseUser(t.Context(), access.Caller{}, bob.Email); err != nil {
			t.Fatal(err)
		}
		erased, err := s.User(t.Context(), d, bob.ID)
		if err != nil || !strings.HasPrefix(erased.Email, fmt.Sprintf("erased-%d-", bob.ID)) {
			t.Errorf("%s, %v", erased.Email, err)
		}
	})
}
