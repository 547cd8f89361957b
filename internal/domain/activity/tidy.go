package activity

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// Tidy removes the entries that were made before a time, of one organization after another.
// Chains get shorter at their start alone: an entry stays as long as one before it does.
func Tidy(ctx context.Context, d *db.DB, before time.Time) error {
	organizations, err := overdue(ctx, d, before)
	if err != nil {
		return err
	}
	for _, id := range organizations {
		err := d.RemoveBefore(ctx, before, func(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
			return tidyChain(ctx, tx, id, before, limit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func tidyChain(ctx context.Context, tx *db.Tx, organizationID string, before time.Time, limit int) (n int64, err error) {
	entries, err := oldest(ctx, tx, organizationID, limit)
	if err != nil {
		return 0, err
	}
	for n < int64(len(entries)) && entries[n].CreatedAt.Before(before) {
		count(tx, organizationID, entries[n].Scope, -1)
		n++
	}
	if n == 0 {
		return 0, nil
	}
	return n, drop(ctx, tx, organizationID, entries[0], entries[n-1])
}
