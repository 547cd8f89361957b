package site

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

// Tidy adds up old minutes to hours, and removes expired rows.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	return errors.Join(
		s.makeHours(ctx, now.Add(-keepMinutes).Truncate(time.Hour)),
		queries.DeleteOld(ctx, s.DB, `site_counts`, `app_id, site_id, version, minute, bucket`, `minute % 60 = 0 AND minute < $1 ORDER BY minute`, now.Add(-keepHours).Unix()/60),
		queries.DeleteOld(ctx, s.DB, `site_errors`, `app_id, site_id, digest`, `last_at < $1 ORDER BY last_at`, now.Add(-keepHours)),
		queries.DeleteOld(ctx, s.DB, `site_previews`, `hash`, `expires_at < $1 ORDER BY expires_at`, now),
		s.tidyHistory(ctx, now.Add(-keepHistory)))
}

// makeHours adds up the minutes before a time to hours, each hour in its own transaction.
func (s Service) makeHours(ctx context.Context, before time.Time) error {
	for {
		hours, err := listMinutes(ctx, s.DB, before.Unix()/60)
		if err != nil || len(hours) == 0 {
			return err
		}
		for _, h := range hours {
			if err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return makeHour(ctx, tx, h) }); err != nil {
				return err
			}
		}
	}
}

// tidyHistory removes old revisions, one site after another.
func (s Service) tidyHistory(ctx context.Context, before time.Time) error {
	sites, err := listOverdue(ctx, s.DB, before)
	if err != nil {
		return err
	}
	for _, id := range sites {
		if err := removeRevisions(ctx, s.DB, id, before); err != nil {
			return err
		}
	}
	return nil
}
