package invite

import (
	"context"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/quota"
)

// How long invites stay listed that have expired, or were accepted.
const (
	keepExpired     = 30 * 24 * time.Hour
	keepAcceptedFor = 30 * 24 * time.Hour
)

// Tidy removes invites that expired more than 30 days ago, except those that others
// are changing, and quotas that no longer hold anything back.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	if err := s.tidyInvites(ctx, now.Add(-keepExpired)); err != nil {
		return err
	}
	if err := s.DB.RemoveBefore(ctx, now.Add(-keepAcceptedFor), forgetAcceptedBefore); err != nil {
		return err
	}
	return s.DB.RemoveBefore(ctx, now.Add(-day), quota.Forget)
}

// tidyInvites removes the invites of one organization after another.
func (s Service) tidyInvites(ctx context.Context, before time.Time) error {
	organizations, err := overdue(ctx, s.DB, before)
	if err != nil {
		return err
	}
	for _, id := range organizations {
		err := s.DB.RemoveBefore(ctx, before, func(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
			n, err := removeOverdue(ctx, tx, id, before, limit)
			if n > 0 {
				addCount(tx, id, -int(n))
			}
			return n, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
