package access

import (
	"context"

	"foyer/internal/base/search"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseUser removes stored answers that are a person's, or show them.
func (k *Keys) EraseUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	if err := db.Exec(ctx, tx, `DELETE FROM idempotency WHERE user_id = $1`, p.UserID); err != nil {
		return err
	}
	for _, email := range p.Emails {
		if err := eraseAnswers(ctx, tx, email); err != nil {
			return err
		}
	}
	return nil
}

// eraseAnswers removes the stored answers that show an address.
func eraseAnswers(ctx context.Context, tx *db.Tx, email string) error {
	columns := func(k *Claim) []any {
		return []any{&k.caller.UserID, &k.caller.KeyID, &k.caller.SessionID, &k.caller.Organization.ID, &k.name}
	}
	all, err := db.All(ctx, tx, columns, `
		SELECT user_id, key_id, session_id, organization_id, name FROM idempotency WHERE body LIKE $1 ESCAPE '!' FOR UPDATE`, "%"+search.LikeAnyCase(email)+"%")
	if err != nil {
		return err
	}
	for _, k := range all { // each may be large, and there may be many
		body, err := db.One(ctx, tx, db.Value[string], `SELECT body FROM idempotency`+ofClaim, k.row()...)
		if err != nil {
			return err
		}
		if activity.Shows(body, email) {
			if err := db.Exec(ctx, tx, `DELETE FROM idempotency`+ofClaim, k.row()...); err != nil {
				return err
			}
		}
	}
	return nil
}

// EraseOrganization removes what is kept of the requests in an organization.
func (k *Keys) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	return db.Exec(ctx, tx, `DELETE FROM idempotency WHERE organization_id = $1`, organizationID)
}
