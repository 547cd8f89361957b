package invite

import (
	"context"

	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/quota"
)

// EraseUser removes the invites to a person, accepted or not. It removes the invites to all addresses before any quota,
// in the order in which createAll locks them.
func (s Service) EraseUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	for _, email := range p.Emails {
		if err := s.eraseOpen(ctx, tx, email); err != nil {
			return err
		}
	}
	for _, email := range p.Emails {
		if err := db.Exec(ctx, tx, `DELETE FROM accepted_invites WHERE target_email = $1`, email); err != nil {
			return err
		}
		if err := quota.ForgetAddress(ctx, tx, email); err != nil {
			return err
		}
	}
	return db.Exec(ctx, tx, `DELETE FROM accepted_invites WHERE accepted_by = $1`, p.UserID)
}

// eraseOpen removes the invites to an address that were not accepted, and records that. There is no event, since it
// would show the address.
func (s Service) eraseOpen(ctx context.Context, tx *db.Tx, email string) error {
	all, err := db.All(ctx, tx, func(e *activity.Entry) []any { return []any{&e.OrganizationID, &e.ItemID} },
		`DELETE FROM invites WHERE target_email = $1 RETURNING organization_id, id`, email)
	if err != nil {
		return err
	}
	for _, e := range all {
		addCount(tx, e.OrganizationID, -1)
		e.Scope, e.Verb, e.Name = activity.Invite, activity.Deleted, email
		if err := activity.Record(ctx, tx, e, s.DB.Now()); err != nil {
			return err
		}
	}
	return nil
}

// EraseOrganization removes the invites of an organization.
func (s Service) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	n, err := db.Changed(ctx, tx, `DELETE FROM invites WHERE organization_id = $1`, organizationID)
	if err != nil {
		return err
	}
	addCount(tx, organizationID, -int(n))
	for _, query := range []string{`DELETE FROM accepted_invites WHERE organization_id = $1`, `DELETE FROM quotas WHERE item = $1`} {
		if err := db.Exec(ctx, tx, query, organizationID); err != nil {
			return err
		}
	}
	return nil
}
