package access

import (
	"context"

	"foyer/internal/base/plaintext"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseUser implements org.Holder: stored answers go that are the person's, or show them.
func (k *Keys) EraseUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	if err := db.Exec(ctx, tx, `DELETE FROM idempotency WHERE user_id = $1`, p.UserID); err != nil {
		return err
	}
	for _, email := range p.Emails {
		if err := db.Exec(ctx, tx, `DELETE FROM idempotency WHERE body LIKE $1 ESCAPE '!'`, "%"+plaintext.EscapeLike(email)+"%"); err != nil {
			return err
		}
	}
	return nil
}

// EraseOrganization implements org.Holder.
func (k *Keys) EraseOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	return db.Exec(ctx, tx, `DELETE FROM idempotency WHERE organization_id = $1`, organizationID)
}
