package site

import (
	"context"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseOrganization removes the sites of an organization: their tokens answer 404, and where others have
// placed its apps they are held. The apps are to be erased after that.
func (s Service) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	if err := lockSharedApps(ctx, tx, organizationID); err != nil {
		return err
	}
	sites, err := db.All(ctx, tx, (*Site).fields, `SELECT `+columns+` FROM sites WHERE organization_id = $1 ORDER BY id`+tx.ForUpdate, organizationID)
	if err != nil {
		return err
	}
	for _, site := range sites {
		if err := removeSite(ctx, tx, organizationID, site.ID); err != nil {
			return err
		}
		if err := s.record(ctx, tx, access.Caller{}, site, activity.Deleted, nil); err != nil {
			return err
		}
	}
	w := newWorld(tx)
	w.erased = organizationID
	return s.followOrganization(ctx, tx, w, organizationID)
}
