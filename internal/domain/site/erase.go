package site

import (
	"context"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

// EraseOrganization removes the sites of an organization, so that their tokens answer 404. Placements of its apps on
// other organizations' sites are held. No site is added meanwhile. The apps stay locked; the caller erases them next.
func (s Service) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	lockAdding(tx, organizationID)
	if err := plugin.LockAll(ctx, tx, organizationID); err != nil {
		return err
	}
	deps := newDependencies(tx)
	deps.erased, deps.follows = organizationID, true
	err := inBatches(ctx, tx, ofOrganization, organizationID, func(ctx context.Context, sites []Site) error {
		var others []Site
		for _, site := range sites {
			if site.OrganizationID != organizationID {
				others = append(others, site)
				continue
			}
			if err := removeSite(ctx, tx, organizationID, site.ID); err != nil {
				return err
			}
			if err := s.record(ctx, tx, access.Caller{}, site, activity.Deleted, nil); err != nil {
				return err
			}
		}
		if len(others) == 0 {
			return nil
		}
		return s.refresh(ctx, tx, deps, access.Caller{}, others, everyPlacement)
	})
	if err != nil {
		return err
	}
	return db.Exec(ctx, tx, `UPDATE placements SET app_owner = '' WHERE app_id IN (SELECT id FROM plugins WHERE organization_id = $1)`, organizationID)
}
