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

// Confirm returns a caller as they are at the time now, read in the transaction that stores
// what they asked for, or ErrChanged if they no longer may. A request that waits for an
// upstream or a compiler takes long enough to outlive the right it was admitted with.
func Confirm(ctx context.Context, tx *db.Tx, c Caller, now time.Time, may func(Caller) error) (Caller, error) {
	g, err := findGrant(ctx, tx, c, now)
	if errors.Is(err, db.ErrNoRow) {
		return Caller{}, ErrChanged
	}
	if err != nil {
		return Caller{}, err
	}
	c.Level, c.Organization = g.level, g.org
	if may(c) != nil {
		return Caller{}, ErrChanged
	}
	return c, nil
}
