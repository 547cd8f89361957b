package access

import (
	"context"
	"strings"
	"time"

	"foyer/internal/db"
	"foyer/internal/page"
)

const keyColumns = `id, user_id, (SELECT email FROM users WHERE users.id = user_id), organization_id, scopes, created_at, expires_at, last_used_at`

func (k *Key) fields() []any {
	return []any{
		&k.ID, &k.UserID, &k.UserEmail, db.Text(&k.OrganizationID),
		scanScope{&k.Scope},
		&k.CreatedAt, db.Time(&k.ExpiresAt), db.Time(&k.LastUsedAt),
	}
}

// scanScope reads names of scopes as they are stored.
type scanScope struct{ scope *Scope }

// Scan implements sql.Scanner.
func (s scanScope) Scan(src any) (err error) {
	names := ""
	if err := db.Text(&names).Scan(src); err != nil {
		return err
	}
	*s.scope, err = ParseScopes(strings.Fields(names))
	return err
}

func insertKey(ctx context.Context, tx *db.Tx, k Key, h hash) (Key, error) {
	return db.One(ctx, tx, (*Key).fields, `
		INSERT INTO keys (user_id, organization_id, hash, scopes, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		RETURNING `+keyColumns,
		k.UserID, db.Text(&k.OrganizationID), h.String(), k.Scope.String(), k.CreatedAt, db.Time(&k.ExpiresAt))
}

func listKeys(ctx context.Context, q db.Querier) ([]Key, error) {
	return db.All(ctx, q, (*Key).fields, `SELECT `+keyColumns+` FROM keys ORDER BY id`)
}

func deleteKey(ctx context.Context, tx *db.Tx, id int64) (int64, error) {
	return db.Exec(ctx, tx, `DELETE FROM keys WHERE id = $1`, id)
}

func deleteExpired(ctx context.Context, tx *db.Tx, before time.Time) error {
	return db.Run(ctx, tx, `DELETE FROM keys WHERE expires_at < $1`, before)
}

func markUsed(ctx context.Context, tx *db.Tx, id int64, at time.Time) error {
	return db.Run(ctx, tx, `
		UPDATE keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, at)
}

func countChange(ctx context.Context, tx *db.Tx) error {
	return db.Add(ctx, tx, `UPDATE access_version SET version = version + $2 WHERE id = $1`, []any{1}, db.Step())
}

func version(ctx context.Context, q db.Querier) (int64, error) {
	return db.One(ctx, q, db.Value[int64], `SELECT version FROM access_version WHERE id = 1`)
}

// grant is one organization that a key opens; a key that opens none has one
// grant without an organization.
type grant struct {
	key   Key
	level Level
	org   Organization
}

func (g *grant) fields() []any {
	return []any{
		&g.key.ID, &g.key.UserID, db.Text(&g.key.OrganizationID),
		scanScope{&g.key.Scope},
		db.Time(&g.key.ExpiresAt),
		&g.level, &g.org.ID, &g.org.Name, &g.org.AppAccess, &g.org.MembersCanInvite, &g.org.MembersCanManageApps,
	}
}

func grants(ctx context.Context, q db.Querier, h hash) ([]grant, error) {
	return db.All(ctx, q, (*grant).fields, `
		SELECT k.id, k.user_id, k.organization_id, k.scopes, k.expires_at,
			COALESCE(m.level, 0), COALESCE(o.id, ''), COALESCE(o.name, ''), COALESCE(o.access_level, 0),
			COALESCE(o.members_can_invite, FALSE), COALESCE(o.members_can_manage_apps, FALSE)
		FROM keys k
		LEFT JOIN memberships m ON m.user_id = k.user_id AND m.organization_id = COALESCE(k.organization_id, m.organization_id)
		LEFT JOIN organizations o ON o.id = m.organization_id
		WHERE k.hash = $1
		ORDER BY m.joined_at, o.id`, h.String())
}

// own is the condition for the keys that a caller may see.
const own = ` WHERE user_id = $1 AND (CAST($2 AS TEXT) = '' OR organization_id = $2)`

func countOwnKeys(ctx context.Context, q db.Querier, c Caller) (int, error) {
	return db.One(ctx, q, db.Value[int], `SELECT COUNT(*) FROM keys`+own, c.UserID, c.BoundTo)
}

func listOwnKeys(ctx context.Context, q db.Querier, c Caller, p page.Page) ([]Key, error) {
	return db.All(ctx, q, (*Key).fields, `SELECT `+keyColumns+` FROM keys`+own+` ORDER BY id LIMIT $3 OFFSET $4`,
		c.UserID, c.BoundTo, p.Limit, p.Offset)
}

// lockKeys keeps a user's keys as they are until this transaction ends. The order is that
// in which FlushUse changes keys.
func lockKeys(ctx context.Context, tx *db.Tx, userID int64) error {
	return db.LockRows(ctx, tx, `SELECT id FROM keys WHERE user_id = $1 ORDER BY id`, userID)
}

// findKey returns ErrNoRow if there is no such key.
func findKey(ctx context.Context, tx *db.Tx, id int64) error {
	_, err := db.One(ctx, tx, db.Value[int64], `SELECT id FROM keys WHERE id = $1`, id)
	return err
}

func countKeys(ctx context.Context, tx *db.Tx, userID int64) (int, error) {
	return db.One(ctx, tx, db.Value[int], `SELECT COUNT(*) FROM keys WHERE user_id = $1`, userID)
}

func deleteExpiredOf(ctx context.Context, tx *db.Tx, userID int64, now time.Time) error {
	return db.Run(ctx, tx, `DELETE FROM keys WHERE user_id = $1 AND expires_at <= $2`, userID, now)
}

func findOwnKey(ctx context.Context, tx *db.Tx, c Caller, id int64) (Key, error) {
	return db.One(ctx, tx, (*Key).fields, `SELECT `+keyColumns+` FROM keys`+own+` AND id = $3`, c.UserID, c.BoundTo, id)
}

func isMember(ctx context.Context, q db.Querier, organizationID string, userID int64) (bool, error) {
	return db.One(ctx, q, db.Value[bool],
		`SELECT EXISTS (SELECT 1 FROM memberships WHERE organization_id = $1 AND user_id = $2)`, organizationID, userID)
}
