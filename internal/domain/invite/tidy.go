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

// tidyBatch bounds how many invites one transaction removes.
const tidyBatch = 500

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

// tidyInvites removes a batch of each organization's invites in turn.
func (s Service) tidyInvites(ctx context.Context, before time.Time) error {
	for more := true; more; {
		organizations, err := overdue(ctx, s.DB, before)
		if err != nil {
			return err
		}
		more = false
		for _, id := range organizations {
			n, err := s.inBatch(ctx, func(ctx context.Context, tx *db.Tx) (int64, error) {
				n, err := removeOverdue(ctx, tx, id, before, tidyBatch)
				if n > 0 {
					addCount(tx, id, -int(n))
				}
				return n, err
			})
			if err != nil {
				return err
			}
			more = more || n > 0
		}
	}
	return nil
}

// inBatch runs something in a transaction, and returns for how many rows it did it.
func (s Service) inBatch(ctx context.Context, remove func(context.Context, *db.Tx) (int64, error)) (n int64, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = remove(ctx, tx)
		return err
	})
	return n, err
}
