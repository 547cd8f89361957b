package access

import (
	"context"
	"strings"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
)

const keyColumns = `id, user_id, (SELECT email FROM users WHERE users.id = user_id), name, prefix, organization_id, scopes,
	created_at, expires_at, last_used_at`

func (k *Key) fields() []any {
	return []any{
		&k.ID, &k.UserID, &k.UserEmail, &k.Name, &k.Prefix, db.Null(&k.OrganizationID),
		scanScope{&k.Scope},
		&k.CreatedAt, db.Null(&k.ExpiresAt), db.Null(&k.LastUsedAt),
	}
}

// scanScope reads names of scopes as they are stored.
type scanScope struct{ scope *Scope }

// Scan implements sql.Scanner.
func (s scanScope) Scan(src any) (err error) {
	names := ""
	if err := db.Null(&names).Scan(src); err != nil {
		return err
	}
	*s.scope, err = ParseScopes(strings.Fields(names))
	return err
}

func insertKey(ctx context.Context, tx *db.Tx, k Key, secret string) (Key, error) {
	return db.One(ctx, tx, (*Key).fields, `
		INSERT INTO keys (user_id, organization_id, hash, scopes, created_at, expires_at, prefix, name)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		RETURNING `+keyColumns,
		k.UserID, db.Null(&k.OrganizationID), hashOf(secret).String(), k.Scope.String(), k.CreatedAt, db.Null(&k.ExpiresAt),
		Prefix(secret), k.Name)
}

func keyNames(ctx context.Context, tx *db.Tx, userID int64) ([]string, error) {
	return db.All[string](ctx, tx, nil, `SELECT name FROM keys WHERE user_id = $1`, userID)
}

func listKeys(ctx context.Context, q db.Querier) ([]Key, error) {
	return db.All(ctx, q, (*Key).fields, `SELECT `+keyColumns+` FROM keys ORDER BY id`)
}

func deleteKey(ctx context.Context, tx *db.Tx, id int64) error {
	return db.Exec(ctx, tx, `DELETE FROM keys WHERE id = $1`, id)
}

// opened returns the ids of the organizations that a key opens. The organization of a bound key may have been erased
// since the key was read.
func opened(ctx context.Context, q db.Querier, k Key) ([]string, error) {
	if k.OrganizationID != "" {
		return db.All[string](ctx, q, nil, `SELECT id FROM organizations WHERE id = $1`, k.OrganizationID)
	}
	return db.All[string](ctx, q, nil, `
		SELECT organization_id FROM memberships WHERE user_id = $1 ORDER BY joined_at, organization_id`, k.UserID)
}

func markKeyUsed(ctx context.Context, tx *db.Tx, key lastuse.Used, at time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, key.ID, at)
}

// countChange counts up the version. It returns once no other transaction that does so is under way.
func countChange(ctx context.Context, tx *db.Tx) error {
	_, err := db.Changed(ctx, tx, `UPDATE access_version SET version = version + $1 WHERE id = 1`, cache.VersionStep())
	return err
}

func storedVersion(ctx context.Context, q db.Querier) (int64, error) {
	return db.One[int64](ctx, q, nil, `SELECT version FROM access_version WHERE id = 1`)
}

// grant is one organization that a key or session opens. A key or session that opens none has one grant without an
// organization.
type grant struct {
	key       Key   // of a session: with the times of the session, but the expiry of the key it began with
	sessionID int64 // 0: no session
	person    Person
	level     Level
	org       Organization
}

func (g *grant) fields() []any {
	return []any{
		&g.key.ID, &g.sessionID, &g.key.UserID, db.Null(&g.key.OrganizationID),
		scanScope{&g.key.Scope},
		db.Null(&g.key.ExpiresAt), &g.key.CreatedAt, db.Null(&g.key.LastUsedAt),
		&g.person.FirstName, &g.person.Email,
		&g.level, &g.org.ID, &g.org.Name, &g.org.AppAccess, &g.org.MembersCanInvite, &g.org.MembersCanManageApps,
	}
}

// The rights of a key, and those of a session: its user's, unless it began with a key.
const (
	grantOfKey = `
		SELECT id, 0 AS session_id, user_id, organization_id, scopes, expires_at, created_at, last_used_at
		FROM keys WHERE hash = $1`
	grantOfSession = `
		SELECT COALESCE(keys.id, 0) AS id, sessions.id AS session_id, sessions.user_id, keys.organization_id,
			COALESCE(keys.scopes, '*') AS scopes, keys.expires_at, sessions.created_at, sessions.last_used_at
		FROM sessions LEFT JOIN keys ON keys.id = sessions.key_id WHERE sessions.hash = $1`
)

func grants(ctx context.Context, q db.Querier, c credential) ([]grant, error) {
	granting := grantOfKey
	if c.session {
		granting = grantOfSession
	}
	return db.All(ctx, q, (*grant).fields, `
		SELECT k.id, k.session_id, k.user_id, k.organization_id, k.scopes, k.expires_at, k.created_at, k.last_used_at,
			u.first_name, u.email, COALESCE(m.level, 0), COALESCE(o.id, ''), COALESCE(o.name, ''), COALESCE(o.access_level, 0),
			COALESCE(o.members_can_invite, FALSE), COALESCE(o.members_can_manage_apps, FALSE)
		FROM (`+granting+`) k
		JOIN users u ON u.id = k.user_id
		LEFT JOIN memberships m ON m.user_id = k.user_id AND m.organization_id = COALESCE(k.organization_id, m.organization_id)
		LEFT JOIN organizations o ON o.id = m.organization_id
		ORDER BY m.joined_at, o.id`, c.hash.String())
}

// standing is the condition that a caller's key and session have not ended. The command line has neither.
const standing = `(CAST($1 AS BIGINT) = 0 OR EXISTS (SELECT 1 FROM keys WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)))
	AND (CAST($3 AS BIGINT) = 0 OR EXISTS (SELECT 1 FROM sessions WHERE id = $3))`

// findGrant returns what a caller may do in their organization, or ErrNoRow if they are not a member, or their key or
// session has ended.
func findGrant(ctx context.Context, tx *db.Tx, c Caller, now time.Time) (grant, error) {
	columns := func(g *grant) []any {
		return []any{&g.level, &g.org.ID, &g.org.Name, &g.org.AppAccess, &g.org.MembersCanInvite, &g.org.MembersCanManageApps}
	}
	return db.One(ctx, tx, columns, `
		SELECT m.level, o.id, o.name, o.access_level, o.members_can_invite, o.members_can_manage_apps
		FROM memberships m JOIN organizations o ON o.id = m.organization_id
		WHERE `+standing+` AND m.user_id = $4 AND m.organization_id = $5`,
		c.KeyID, now, c.SessionID, c.UserID, c.Organization.ID)
}

// own is the condition for the keys that a caller may see.
const own = ` WHERE user_id = $1 AND (CAST($2 AS TEXT) = '' OR organization_id = $2)`

func countOwnKeys(ctx context.Context, q db.Querier, c Caller) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM keys`+own, c.UserID, c.BoundTo)
}

func listOwnKeys(ctx context.Context, q db.Querier, c Caller, p page.Page) ([]Key, error) {
	return db.All(ctx, q, (*Key).fields, `SELECT `+keyColumns+` FROM keys`+own+` ORDER BY id LIMIT $3 OFFSET $4`,
		c.UserID, c.BoundTo, p.Limit, p.Offset)
}

// lockKeys locks a user's keys until this transaction ends, in the order in which FlushUse changes keys.
func lockKeys(ctx context.Context, tx *db.Tx, userID int64) error {
	return db.Exec(ctx, tx, `SELECT 1 FROM keys WHERE user_id = $1 ORDER BY id FOR UPDATE`, userID)
}

// findCredential returns ErrNoRow if the key or session that a caller was admitted with has ended.
func findCredential(ctx context.Context, tx *db.Tx, c Caller, now time.Time) error {
	_, err := db.One[int](ctx, tx, nil, `SELECT 1 WHERE `+standing, c.KeyID, now, c.SessionID)
	return err
}

// findKeyByHash finds a key, whether it has expired or not.
func findKeyByHash(ctx context.Context, q db.Querier, h hash) (Key, error) {
	return db.One(ctx, q, (*Key).fields, `SELECT `+keyColumns+` FROM keys WHERE hash = $1`, h.String())
}

// findKey returns ErrNoRow if there is no such key.
func findKey(ctx context.Context, tx *db.Tx, id int64) (Key, error) {
	return db.One(ctx, tx, (*Key).fields, `SELECT `+keyColumns+` FROM keys WHERE id = $1`, id)
}

func countKeys(ctx context.Context, tx *db.Tx, userID int64) (int, error) {
	return db.One[int](ctx, tx, nil, `SELECT COUNT(*) FROM keys WHERE user_id = $1`, userID)
}

func deleteExpiredOf(ctx context.Context, tx *db.Tx, userID int64, now time.Time) error {
	return db.Exec(ctx, tx, `DELETE FROM keys WHERE user_id = $1 AND expires_at <= $2`, userID, now)
}

// findOwnKey finds a key that a caller may see, or one of theirs that is not bound.
func findOwnKey(ctx context.Context, tx *db.Tx, c Caller, id int64) (Key, error) {
	return db.One(ctx, tx, (*Key).fields, `
		SELECT `+keyColumns+` FROM keys WHERE user_id = $1 AND id = $3 AND (CAST($2 AS TEXT) = '' OR organization_id = $2 OR organization_id IS NULL)`,
		c.UserID, c.BoundTo, id)
}

func isMember(ctx context.Context, q db.Querier, organizationID string, userID int64) (bool, error) {
	return db.One[bool](ctx, q, nil,
		`SELECT EXISTS (SELECT 1 FROM memberships WHERE organization_id = $1 AND user_id = $2)`, organizationID, userID)
}
