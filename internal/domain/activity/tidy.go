package activity

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// Tidy removes the entries that were made before a time, one organization after another. It shortens chains only at
// their start: an entry stays as long as one before it does.
func Tidy(ctx context.Context, d *db.DB, before time.Time) error {
	organizations, err := overdue(ctx, d, before)
	if err != nil {
		return err
	}
	for _, id := range organizations {
		for n := 1; n > 0; {
			err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
				n, err = tidyChain(ctx, tx, id, before)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// lockStored makes transactions that remove stored entries, or parts of them, wait for each other: each locks entries
// in an order of its own.
func lockStored(tx *db.Tx) { db.Lock(tx, "stored activity") }

func tidyChain(ctx context.Context, tx *db.Tx, organizationID string, before time.Time) (n int, err error) {
	lockStored(tx)
	entries, err := oldest(ctx, tx, organizationID, chainBatch)
	if err != nil {
		return 0, err
	}
	for n < len(entries) && entries[n].CreatedAt.Before(before) {
		count(tx, organizationID, entries[n].Scope, -1)
		n++
	}
	if n == 0 {
		return 0, nil
	}
	return n, drop(ctx, tx, organizationID, entries[0], entries[n-1])
}
