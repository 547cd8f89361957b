package invite

import (
	"context"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// expireBatch is how many invites one transaction records at most.
const expireBatch = 100

// Expire records which invites have expired, once for each issue.
func (s Service) Expire(ctx context.Context) error {
	for {
		var n int
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = s.expireNext(ctx, tx)
			return err
		})
		if err != nil || n < expireBatch {
			return err
		}
	}
}

func (s Service) expireNext(ctx context.Context, tx *db.Tx) (int, error) {
	now := s.DB.Now()
	invites, err := expired(ctx, tx, now, expireBatch)
	if err != nil {
		return 0, err
	}
	for _, i := range invites {
		if err := setExpiryAnnounced(ctx, tx, i); err != nil {
			return 0, err
		}
		if err := s.record(ctx, tx, access.Caller{}, i, activity.Expired, now); err != nil {
			return 0, err
		}
	}
	return len(invites), nil
}
