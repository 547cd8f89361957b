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
	lists := func() ([]kept, error) { return overdue(ctx, d, before) }
	return db.InBatches(ctx, d, lists, func(tx *db.Tx, l kept) (int64, error) {
		n, err := removeOldest(ctx, tx, l, before, tidyBatch)
		if err != nil || n == 0 {
			return 0, err
		}
		return n, count(ctx, tx, l.organizationID, l.scope, -n)
	})
}
