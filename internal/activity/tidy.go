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
	lists, err := counts(ctx, d)
	if err != nil {
		return err
	}
	for _, l := range lists {
		for more := true; more; {
			err := d.InTx(ctx, func(tx *db.Tx) error {
				n, err := removeOldest(ctx, tx, l, before, tidyBatch)
				if err != nil {
					return err
				}
				more = n == tidyBatch
				return count(ctx, tx, l.organizationID, l.scope, -n)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
