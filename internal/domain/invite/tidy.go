package invite

import (
	"context"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/quota"
)

// keepListed is how long expired and accepted invites stay listed.
const keepListed = 30 * 24 * time.Hour

// tidyBatch is how many invites one transaction removes at most: others have their turns in between.
const tidyBatch = 500

// Tidy removes invites that expired or were accepted more than 30 days ago, except those that others are changing, and
// quotas that no longer limit anything.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	if err := s.tidyInvites(ctx, now.Add(-keepListed)); err != nil {
		return err
	}
	if err := queries.DeleteOld(ctx, s.DB, `accepted_invites`, `id`, `accepted_at < $1 ORDER BY accepted_at`, now.Add(-keepListed)); err != nil {
		return err
	}
	return quota.Tidy(ctx, s.DB, now.Add(-day))
}

// tidyInvites removes expired invites, one organization after another.
func (s Service) tidyInvites(ctx context.Context, before time.Time) error {
	organizations, err := overdue(ctx, s.DB, before)
	if err != nil {
		return err
	}
	for _, id := range organizations {
		for n := int64(1); n > 0; {
			err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = removeOverdue(ctx, tx, id, before, tidyBatch)
				if n > 0 {
					addCount(tx, id, -int(n))
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
