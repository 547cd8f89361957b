package activity

import (
	"context"
	"time"

	"foyer/internal/db"
)

// tidyBatch bounds how many entries one transaction removes.
const tidyBatch = 500

// Tidy removes the entries that were made before a time.
func Tidy(ctx context.Context, d *db.DB, before time.Time) error {
	for more := true; more; {
		lists, err := overdue(ctx, d, before)
		if err != nil {
			return err
		}
		more = false
		for _, l := range lists {
			n, err := tidyOne(ctx, d, l, before)
			if err != nil {
				return err
			}
			more = more || n > 0
		}
	}
	return nil
}

// tidyOne removes one batch of a list's entries, and returns how many.
func tidyOne(ctx context.Context, d *db.DB, l kept, before time.Time) (n int64, err error) {
	err = d.InTx(ctx, func(tx *db.Tx) (err error) {
		if n, err = removeOldest(ctx, tx, l, before, tidyBatch); err != nil || n == 0 {
			return err
		}
		return count(ctx, tx, l.organizationID, l.scope, -n)
	})
	return n, err
}
