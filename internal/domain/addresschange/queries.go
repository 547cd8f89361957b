package addresschange

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// insert stores a change that was asked for with a key; 0: with none.
func insert(ctx context.Context, tx *db.Tx, c Change, keyID int64) error {
	return db.Exec(ctx, tx, `
		INSERT INTO address_changes (id, user_id, old_email, new_email, session_id, key_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		c.id, c.userID, c.OldEmail, c.NewEmail, c.sessionID, db.Null(&keyID), c.createdAt)
}

func (c *Change) fields() []any {
	return []any{&c.id, &c.userID, &c.OldEmail, &c.NewEmail, &c.sessionID, &c.createdAt, db.Null(&c.changedAt), &c.current}
}

// find finds a change. One that is not done is not current if an operator has changed the user's address meanwhile, or
// if its key has expired.
func find(ctx context.Context, q db.Querier, id string, now time.Time) (Change, error) {
	return db.One(ctx, q, (*Change).fields, `
		SELECT c.id, c.user_id, c.old_email, c.new_email, c.session_id, c.created_at, c.changed_at,
			CASE WHEN c.changed_at IS NULL THEN
				u.email = c.old_email AND NOT EXISTS (SELECT 1 FROM keys WHERE id = c.key_id AND expires_at <= $2)
			ELSE EXISTS (
				SELECT 1 FROM address_changes l WHERE l.user_id = c.user_id AND l.new_email = u.email AND l.changed_at >= c.changed_at) END
		FROM address_changes c JOIN users u ON u.id = c.user_id WHERE c.id = $1`, id, now)
}

// sharesOrganization reports whether an address belongs to somebody in an organization of a user.
func sharesOrganization(ctx context.Context, tx *db.Tx, userID int64, email string) (bool, error) {
	return db.One[bool](ctx, tx, nil, `
		SELECT EXISTS (SELECT 1 FROM users u JOIN memberships theirs ON theirs.user_id = u.id
			JOIN memberships own ON own.organization_id = theirs.organization_id
			WHERE u.email = $2 AND u.id <> $1 AND own.user_id = $1)`, userID, email)
}

// markChanged stores that a change is done. It can be undone even after its key is gone.
func markChanged(ctx context.Context, tx *db.Tx, id string, at time.Time) error {
	return db.Exec(ctx, tx, `UPDATE address_changes SET changed_at = $2, key_id = NULL WHERE id = $1`, id, at)
}

func deletePending(ctx context.Context, tx *db.Tx, userID int64) error {
	return db.Exec(ctx, tx, `DELETE FROM address_changes WHERE user_id = $1 AND changed_at IS NULL`, userID)
}

func deleteSince(ctx context.Context, tx *db.Tx, userID int64, since time.Time) error {
	return db.Exec(ctx, tx, `DELETE FROM address_changes WHERE user_id = $1 AND created_at >= $2`, userID, since)
}

func deleteTo(ctx context.Context, tx *db.Tx, email string) error {
	return db.Exec(ctx, tx, `DELETE FROM address_changes WHERE new_email = $1 OR old_email = $1`, email)
}
