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
	for {
		organizations, err := overdue(ctx, s.DB, before)
		if err != nil {
			return err
		}
		if len(organizations) == 0 {
			break
		}
		for _, id := range organizations {
			if err := s.tidyOne(ctx, id, before); err != nil {
				return err
			}
		}
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return forgetBrakes(ctx, tx, now.Add(-day)) })
}

// tidyOne removes one batch of an organization's invites.
func (s Service) tidyOne(ctx context.Context, organizationID string, before time.Time) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		n, err := removeOverdue(ctx, tx, organizationID, before, tidyBatch)
		if err != nil {
			return err
		}
		return addCount(ctx, tx, organizationID, -int(n))
	})
}
