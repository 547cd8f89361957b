package site

import (
	"context"
	"errors"
	"time"

	"foyer/internal/infra/queries"
)

// Tidy removes expired rows, and has counts tidied.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	return errors.Join(
		s.Manifests.Counts.Tidy(ctx),
		queries.DeleteOld(ctx, s.DB, `site_previews`, `hash`, `expires_at < $1 ORDER BY expires_at`, now),
		s.tidyHistory(ctx, now.Add(-keepHistory)))
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
