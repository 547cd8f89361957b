package activity

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// tidyBatch bounds how many entries one transaction removes.
const tidyBatch = 500

// Tidy removes the entries that were made before a time, a batch of each organization in turn.
// Chains get shorter at their start alone: an entry stays as long as one before it does.
func Tidy(ctx context.Context, d *db.DB, before time.Time) error {
	for more := true; more; {
		organizations, err := overdue(ctx, d, before)
		if err != nil {
			return err
		}
		more = false
		for _, id := range organizations {
			n, err := tidyChain(ctx, d, id, before)
			if err != nil {
				return err
			}
			more = more || n > 0
		}
	}
	return nil
}

func tidyChain(ctx context.Context, d *db.DB, organizationID string, before time.Time) (n int, err error) {
	err = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		entries, err := oldest(ctx, tx, organizationID, tidyBatch)
		if err != nil {
			return err
		}
		for n = 0; n < len(entries) && entries[n].CreatedAt.Before(before); n++ {
			count(tx, organizationID, entries[n].Scope, -1)
		}
		if n == 0 {
			return nil
		}
		return drop(ctx, tx, organizationID, entries[0], entries[n-1])
	})
	return n, err
}
