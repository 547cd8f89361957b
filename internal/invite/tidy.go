package invite

import (
	"context"
	"time"

	"foyer/internal/db"
)

// keepExpired is how long expired invites stay listed.
const keepExpired = 30 * 24 * time.Hour

// tidyBatch bounds how many rows one transaction removes.
const tidyBatch = 500

// Tidy removes invites that expired more than 30 days ago, and brakes that hold
// nothing back any more.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	before := now.Add(-keepExpired)
	for more := true; more; {
		organizations, err := overdue(ctx, s.DB, before)
		if err != nil {
			return err
		}
		more = false
		for _, id := range organizations {
			n, err := s.tidyOne(ctx, id, before)
			if err != nil {
				return err
			}
			more = more || n > 0
		}
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return forgetBrakes(ctx, tx, now.Add(-day)) })
}

// tidyOne removes one batch of an organization's invites, but for those that others
// are changing, and returns how many.
func (s Service) tidyOne(ctx context.Context, organizationID string, before time.Time) (n int64, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		if n, err = removeOverdue(ctx, tx, organizationID, before, tidyBatch); err != nil || n == 0 {
			return err
		}
		return addCount(ctx, tx, organizationID, -int(n))
	})
	return n, err
}
