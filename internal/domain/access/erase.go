package access

import (
	"context"

	"foyer/internal/base/search"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseUser removes a person's stored answers. Of other users' answers that show the person, it keeps only that the
// request was carried out.
func (k *Keys) EraseUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	if err := db.Exec(ctx, tx, `DELETE FROM idempotency WHERE user_id = $1`, p.UserID); err != nil {
		return err
	}
	for _, text := range p.ShownBy() {
		if err := eraseAnswers(ctx, tx, text); err != nil {
			return err
		}
	}
	return nil
}

// eraseAnswers empties the stored answers that contain a text. Their rows stay, so that no request is carried out
// again.
func eraseAnswers(ctx context.Context, tx *db.Tx, text string) error {
	columns := func(k *Claim) []any {
		return []any{&k.caller.UserID, &k.caller.KeyID, &k.caller.SessionID, &k.caller.Organization.ID, &k.name}
	}
	all, err := db.All(ctx, tx, columns, `
		SELECT user_id, key_id, session_id, organization_id, name FROM idempotency WHERE body LIKE $1 ESCAPE '!' FOR UPDATE`, "%"+search.LikeAnyCase(text)+"%")
	if err != nil {
		return err
	}
	for _, k := range all { // each may be large, and there may be many
		body, err := db.One[string](ctx, tx, nil, `SELECT body FROM idempotency`+ofClaim, k.row()...)
		if err != nil {
			return err
		}
		if activity.Shows(body, text) {
			if err := db.Exec(ctx, tx, `UPDATE idempotency SET etag = '', item = '', body = NULL`+ofClaim, k.row()...); err != nil {
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
