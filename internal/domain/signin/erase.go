package signin

import (
	"context"

	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseUser removes a person's ways to sign in: nobody can sign in as them any more.
func (s Service) EraseUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	lockUser(tx, p.UserID)
	for _, query := range []string{
		`DELETE FROM identities WHERE user_id = $1`,
		`DELETE FROM signin_links WHERE user_id = $1`,
		`DELETE FROM signin_failures WHERE user_id = $1`,
	} {
		if err := db.Exec(ctx, tx, query, p.UserID); err != nil {
			return err
		}
	}
	for _, email := range p.Emails {
		if err := db.Exec(ctx, tx, `DELETE FROM signin_requests WHERE email = $1`, email); err != nil {
			return err
		}
	}
	return nil
}

// EraseOrganization removes the counts of failed sign-ins that would have opened only the organization.
func (s Service) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	return db.Exec(ctx, tx, `DELETE FROM signin_failures WHERE organization_id = $1`, organizationID)
}
