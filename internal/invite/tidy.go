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

// Tidy removes invites that expired more than 30 days ago, except those that others
// are changing, and brakes that no longer hold anything back.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	before := now.Add(-keepExpired)
	organizations := func() ([]string, error) { return overdue(ctx, s.DB, before) }
	err := db.InBatches(ctx, s.DB, organizations, func(tx *db.Tx, id string) (int64, error) {
		n, err := removeOverdue(ctx, tx, id, before, tidyBatch)
		if err != nil || n == 0 {
			return 0, err
		}
		return n, addCount(ctx, tx, id, -int(n))
	})
	if err != nil {
		return err
	}
	dayBefore := now.Add(-day)
	brakes := func() ([]string, error) { return overdueBrake(ctx, s.DB, dayBefore) }
	return db.InBatches(ctx, s.DB, brakes, func(tx *db.Tx, _ string) (int64, error) {
		return forgetBrakes(ctx, tx, dayBefore, tidyBatch)
	})
}
