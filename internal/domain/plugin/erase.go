package plugin

import (
	"context"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseUser implements org.Holder: what is kept here names users by their ids alone.
func (s Service) EraseUser(context.Context, *db.Tx, activity.Person) error { return nil }

// EraseOrganization implements org.Holder: its apps go. The sites of others that they are shared with
// have followed that before.
func (s Service) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	defer s.Bundles.forget()
	s.Follow = nil
	if err := lockContents(ctx, tx); err != nil {
		return err
	}
	ids, err := db.All(ctx, tx, db.Value[int64], `SELECT id FROM plugins WHERE organization_id = $1 ORDER BY id`, organizationID)
	if err != nil {
		return err
	}
	c := access.Caller{Organization: access.Organization{ID: organizationID}}
	for _, id := range ids {
		if err := s.erase(ctx, tx, c, id); err != nil {
			return err
		}
	}
	return nil
}
