package report

import (
	"context"
	"errors"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Counts are kept for these times, by minute and then by hour.
const (
	keepMinutes = 2 * 24 * time.Hour
	keepHours   = 90 * 24 * time.Hour
)

// Tidy adds up old minutes to hours, and removes what is no longer kept.
func (c *Counts) Tidy(ctx context.Context) error {
	now := c.DB.Now()
	return errors.Join(
		c.makeHours(ctx, now.Add(-keepMinutes).Truncate(time.Hour)),
		queries.DeleteOld(ctx, c.DB, `site_counts`, `site_id, app_id, minute, version, bucket`, `minute % 60 = 0 AND minute < $1 ORDER BY minute`, now.Add(-keepHours).Unix()/60),
		queries.DeleteOld(ctx, c.DB, `site_errors`, `site_id, app_id, digest`, `last_at < $1 ORDER BY last_at`, now.Add(-keepHours)))
}

// makeHours adds up the minutes before a time to hours, each hour in its own transaction.
func (c *Counts) makeHours(ctx context.Context, before time.Time) error {
	for {
		hours, err := listMinutes(ctx, c.DB, before.Unix()/60)
		if err != nil || len(hours) == 0 {
			return err
		}
		for _, h := range hours {
			if err := c.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return makeHour(ctx, tx, h) }); err != nil {
				return err
			}
		}
	}
}
