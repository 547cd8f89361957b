package org

import (
	"context"
	"errors"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// introduce gives the first owner, whom the first start made without one, an address, inside
// Keys.Change. It is as good as one that the first start is given: nobody has shown that it is
// theirs. Of everybody else the address stays.
func (s Service) introduce(ctx context.Context, tx *db.Tx, c access.Caller, u *User, address patch.Field[string]) error {
	if !address.Set || u.Email != NobodysEmail || address.Value == NobodysEmail {
		return nil
	}
	email, err := ParseEmail("email", address.Value)
	if err != nil {
		return err
	}
	switch _, err := findUser(ctx, tx, email); {
	case err == nil:
		return fault.Field(fault.NotUnique, "email", "There is another user with this address.")
	case !errors.Is(err, db.ErrNoRow):
		return err
	}
	u.Email = email
	if err := updateEmail(ctx, tx, *u); err != nil {
		return err
	}
	return s.Keys.Record(ctx, tx, access.Key{UserID: u.ID}, c.Did(activity.Entry{
		Scope: activity.Membership, ItemID: u.UUID, Verb: activity.Updated, Name: email,
	}))
}
