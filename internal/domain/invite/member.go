package invite

import (
	"context"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// AddMember makes a user a member, for an operator, and the user too if the address is new. It deletes an invite to the
// address, which could no longer be accepted.
func (s Service) AddMember(ctx context.Context, organizationID, email string, level access.Level) (org.Membership, error) {
	email, err := org.ParseEmail("email", email)
	if err != nil {
		return org.Membership{}, err
	}
	var m org.Membership
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if _, err := org.Find(ctx, tx, organizationID); err != nil {
			return access.OrNotFound(err)
		}
		if err := s.Withdraw(ctx, tx, access.Caller{}, organizationID, email); err != nil {
			return err
		}
		m, err = s.orgs().InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: organizationID, User: org.User{Email: email}, Level: level})
		return err
	})
	return m, err
}

// Withdraw deletes the invite to an address that a member is about to get, before the transaction locks anything of
// theirs.
func (s Service) Withdraw(ctx context.Context, tx *db.Tx, by access.Caller, organizationID, email string) error {
	if err := lockTarget(ctx, tx, organizationID, email, 0); err != nil {
		return err
	}
	t, err := findTarget(ctx, tx, organizationID, email, 0)
	if err != nil {
		return err
	}
	return s.replace(ctx, tx, by, organizationID, t)
}
