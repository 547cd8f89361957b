package access

import (
	"context"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
	"foyer/internal/infra/queries"
)

// markKeyUsedIn stores nothing for a key that has been revoked since. If it is being revoked, the locks wait for that.
func markKeyUsedIn(ctx context.Context, tx *db.Tx, key lastuse.Used, at time.Time) error {
	return db.Exec(ctx, tx, `
		INSERT INTO key_uses (key_id, organization_id, last_used_at)
		SELECT k.id, o.id, CAST($3 AS TIMESTAMPTZ) FROM keys k, organizations o WHERE k.id = $1 AND o.id = $2 FOR KEY SHARE
		ON CONFLICT (key_id, organization_id) DO UPDATE SET last_used_at = excluded.last_used_at WHERE key_uses.last_used_at < excluded.last_used_at`,
		key.ID, key.OrganizationID, at)
}

func markMemberActive(ctx context.Context, tx *db.Tx, user lastuse.Used, at time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE memberships SET last_active_at = $3
		WHERE organization_id = $1 AND user_id = $2 AND (last_active_at IS NULL OR last_active_at < $3)`, user.OrganizationID, user.ID, at)
}

// MemberKey is a key that can see an organization, as its admins see it.
type MemberKey struct {
	Key      // LastUsedAt is when it was last used in the organization
	UserUUID string
}

// MayManageKeys reports whether a caller may see and revoke keys of others.
func MayManageKeys(c Caller) error {
	if c.Level < Admin {
		return fault.New(fault.Denied, "Only admins and owners may see the keys of an organization.")
	}
	return c.Scope.Require(All)
}

// OfMembers returns a page of the keys that can see the caller's organization, in the order
// they were made: those of members up to the caller's level.
func (k *Keys) OfMembers(ctx context.Context, c Caller, p page.Page) (page.Found[MemberKey], error) {
	return queries.Page(ctx, k.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) { return countMemberKeys(ctx, q, c) },
		func(ctx context.Context, q db.Querier) ([]MemberKey, error) { return listMemberKeys(ctx, q, c, p) })
}

// RevokeOfMember removes one of the keys that OfMembers lists, if it is bound to the
// organization.
func (k *Keys) RevokeOfMember(ctx context.Context, c Caller, id int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		c, err := Confirm(ctx, tx, c, k.DB.Now(), MayManageKeys)
		if err != nil {
			return err
		}
		key, err := findMemberKey(ctx, tx, c, id)
		if err != nil {
			return OrNotFound(err)
		}
		if key.OrganizationID == "" {
			return fault.New(fault.Denied, "The key is not bound to this organization, but to its user: remove the member instead.")
		}
		return k.revokeWhere(ctx, tx, c, `id = $1`, key.ID)
	})
}

// RevokeBound removes, inside Change, the keys of a user that are bound to an organization.
func (k *Keys) RevokeBound(ctx context.Context, tx *db.Tx, by Caller, organizationID string, userID int64) error {
	return k.revokeWhere(ctx, tx, by, `organization_id = $1 AND user_id = $2`, organizationID, userID)
}

// RevokeAllBound removes, inside Change, all keys that are bound to an organization, for an operator.
func (k *Keys) RevokeAllBound(ctx context.Context, tx *db.Tx, organizationID string) error {
	return k.revokeWhere(ctx, tx, Caller{}, `organization_id = $1`, organizationID)
}

func (k *MemberKey) fields() []any { return append(k.Key.fields(), &k.UserUUID) }

// ofMembers selects the keys that see an organization, of members up to a level.
const ofMembers = ` FROM memberships m JOIN keys k ON k.user_id = m.user_id AND (k.organization_id IS NULL OR k.organization_id = m.organization_id)
	WHERE m.organization_id = $1 AND m.level <= $2`

// selectMemberKeys returns the query for some of the keys of ofMembers.
func selectMemberKeys(which string) string {
	return `
		SELECT k.id, k.user_id, u.email, k.name, k.prefix, k.organization_id, k.scopes, k.created_at, k.expires_at,
			CASE WHEN k.organization_id IS NULL THEN (SELECT last_used_at FROM key_uses WHERE key_id = k.id AND organization_id = $1) ELSE k.last_used_at END,
			u.uuid
		FROM (SELECT k.id` + ofMembers + which + `) found JOIN keys k ON k.id = found.id JOIN users u ON u.id = k.user_id ORDER BY k.id`
}

func countMemberKeys(ctx context.Context, q db.Querier, c Caller) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*)`+ofMembers, c.Organization.ID, c.Level)
}

func listMemberKeys(ctx context.Context, q db.Querier, c Caller, p page.Page) ([]MemberKey, error) {
	return db.All(ctx, q, (*MemberKey).fields, selectMemberKeys(` ORDER BY k.id LIMIT $3 OFFSET $4`),
		c.Organization.ID, c.Level, p.Limit, p.Offset)
}

func findMemberKey(ctx context.Context, q db.Querier, c Caller, id int64) (MemberKey, error) {
	return db.One(ctx, q, (*MemberKey).fields, selectMemberKeys(` AND k.id = $3`), c.Organization.ID, c.Level, id)
}
