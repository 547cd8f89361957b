package access

import (
	"context"
	"errors"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
)

// ErrChanged is the answer to a caller who lost a right while their request was under way.
var ErrChanged = fault.New(fault.Denied, "Your permissions changed while the request was under way, and nothing was stored.")

// OrChanged returns err, or ErrChanged if a new row refers to one that is gone, such as its organization: others may
// have deleted it since the caller was admitted.
func OrChanged(err error) error {
	if errors.Is(err, db.ErrReference) {
		return ErrChanged
	}
	return err
}

// Confirm returns a caller with the rights they have at the time now, read in the transaction that stores what they
// asked for, or ErrChanged if they have lost the right to it. A request that waits for an upstream or a compiler may
// outlive the right it was admitted with. An operator, who is no user, loses none. With an error, too, the caller is
// the one that was given, so that no user becomes an operator when a transaction runs again.
func Confirm(ctx context.Context, tx *db.Tx, c Caller, now time.Time, may func(Caller) error) (Caller, error) {
	if c.UserID == 0 {
		return c, nil
	}
	g, err := findGrant(ctx, tx, c, now)
	if errors.Is(err, db.ErrNoRow) {
		return c, ErrChanged
	}
	if err != nil {
		return c, err
	}
	c.Level, c.Organization = g.level, g.org
	if may(c) != nil {
		return c, ErrChanged
	}
	return c, nil
}

// ConfirmSelf returns ErrChanged if the caller's key or session has ended at the time now. It is Confirm for what users
// do to themselves.
func ConfirmSelf(ctx context.Context, tx *db.Tx, c Caller, now time.Time) error {
	err := findCredential(ctx, tx, c, now)
	if errors.Is(err, db.ErrNoRow) {
		return ErrChanged
	}
	return err
}

// ConfirmCached is Confirm for a request that has waited for nothing but the database. It asks the database only if the
// caller's rights in memory may be out of date.
func ConfirmCached(ctx context.Context, tx *db.Tx, c Caller, now time.Time, may func(Caller) error) (Caller, error) {
	if c.keys != nil && c.keys.holds(c.version, now) && (c.keyExpires.IsZero() || now.Before(c.keyExpires)) {
		return c, nil
	}
	return Confirm(ctx, tx, c, now, may)
}
