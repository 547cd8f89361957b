package org

import (
	"context"
	"strings"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

const orgColumns = `organizations.id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, invite_ttl, organizations.created_at`

func (o *Organization) fields() []any {
	return []any{
		&o.ID, &o.Name, &o.AppAccess, &o.MembersCanInvite, &o.MembersCanManageApps,
		domains{&o.AllowedDomains},
		&o.InviteTTL, &o.CreatedAt,
	}
}

// domains are stored with commas between them.
type domains struct{ list *[]string }

// Scan implements sql.Scanner.
func (d domains) Scan(src any) error {
	text := ""
	if err := db.Null(&text).Scan(src); err != nil {
		return err
	}
	*d.list = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	return nil
}

func insertOrganization(ctx context.Context, tx *db.Tx, o Organization) (Organization, error) {
	return db.One(ctx, tx, (*Organization).fields, `
		INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		RETURNING `+orgColumns,
		o.ID, o.Name, o.AppAccess, o.MembersCanInvite, o.MembersCanManageApps, strings.Join(o.AllowedDomains, ","), o.CreatedAt)
}

func updateOrganization(ctx context.Context, tx *db.Tx, o Organization) (Organization, error) {
	return db.One(ctx, tx, (*Organization).fields, `
		UPDATE organizations
		SET name = $2, access_level = $3, members_can_invite = $4, members_can_manage_apps = $5, allowed_domains = $6, invite_ttl = $7
		WHERE id = $1
		RETURNING `+orgColumns,
		o.ID, o.Name, o.AppAccess, o.MembersCanInvite, o.MembersCanManageApps, strings.Join(o.AllowedDomains, ","),
		o.InviteTTL)
}

// Find returns an organization by its id, in upper or lower case.
func Find(ctx context.Context, q db.Querier, id string) (Organization, error) {
	return db.One(ctx, q, (*Organization).fields, `SELECT `+orgColumns+` FROM organizations WHERE id = $1`, strings.ToLower(id))
}

// deleteOrganization also removes the organization's members and keys.
func deleteOrganization(ctx context.Context, tx *db.Tx, id string) error {
	return db.Exec(ctx, tx, `DELETE FROM organizations WHERE id = $1`, id)
}

// Any reports whether there is an organization.
func Any(ctx context.Context, q db.Querier) (bool, error) {
	return db.One[bool](ctx, q, nil, `SELECT EXISTS (SELECT 1 FROM organizations)`)
}

func listOrganizations(ctx context.Context, q db.Querier) ([]Organization, error) {
	return db.All(ctx, q, (*Organization).fields, `SELECT `+orgColumns+` FROM organizations ORDER BY created_at, id`)
}

// UserColumns and User.Fields go together, for queries that join users AS u.
const UserColumns = `u.id, u.uuid, u.distinct_id, u.email, u.first_name, u.last_name, u.is_email_verified, u.created_at`

// Fields lists what UserColumns fill.
func (u *User) Fields() []any {
	return []any{&u.ID, &u.UUID, &u.DistinctID, &u.Email, &u.FirstName, &u.LastName, &u.IsEmailVerified, &u.CreatedAt}
}

// findUser finds no erased user: the text in place of their address does not name them.
func findUser(ctx context.Context, q db.Querier, email string) (User, error) {
	return db.One(ctx, q, (*User).Fields, `SELECT `+UserColumns+` FROM users u WHERE u.email = $1 AND u.erased_at IS NULL`, email)
}

// ensureUser makes the user unless there is one with this address. It fails with db.ErrNoRow while a former holder of
// the address may take it back, and if an erased user has it.
func ensureUser(ctx context.Context, tx *db.Tx, u User) (User, error) {
	err := db.Exec(ctx, tx, `
		INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at, search)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8
		WHERE NOT EXISTS (SELECT 1 FROM address_changes WHERE old_email = $3 AND changed_at > $9)
		ON CONFLICT (email) DO NOTHING`,
		u.UUID, u.DistinctID, u.Email, u.FirstName, u.LastName, u.IsEmailVerified, u.CreatedAt, u.search(), u.CreatedAt.Add(-AddressHeld))
	if err != nil {
		return User{}, err
	}
	return findUser(ctx, tx, u.Email)
}

func listUsers(ctx context.Context, q db.Querier) ([]User, error) {
	return db.All(ctx, q, (*User).Fields, `SELECT `+UserColumns+` FROM users u WHERE u.erased_at IS NULL ORDER BY u.id`)
}

// blankUser removes a user's names and address, and marks them as erased.
func blankUser(ctx context.Context, tx *db.Tx, id int64, email string, at time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE users SET email = $2, first_name = '', last_name = '', search = '', is_email_verified = FALSE, erased_at = $3
		WHERE id = $1`, id, email, at)
}

// verification is how a user was made, and whether their address is verified.
type verification struct{ byHandedLink, verified bool }

func findVerification(ctx context.Context, q db.Querier, userID int64) (verification, error) {
	return db.One(ctx, q, func(s *verification) []any { return []any{&s.byHandedLink, &s.verified} },
		`SELECT by_handed_link, is_email_verified FROM users WHERE id = $1`, userID)
}

func markVerified(ctx context.Context, tx *db.Tx, userID int64) error {
	return db.Exec(ctx, tx, `UPDATE users SET is_email_verified = TRUE, by_handed_link = FALSE WHERE id = $1`, userID)
}

func updateNames(ctx context.Context, tx *db.Tx, u User) error {
	return db.Exec(ctx, tx, `UPDATE users SET first_name = $2, last_name = $3, search = $4 WHERE id = $1`, u.ID, u.FirstName, u.LastName, u.search())
}

func updateEmail(ctx context.Context, tx *db.Tx, u User) error {
	return db.Exec(ctx, tx, `
		UPDATE users SET email = $2, is_email_verified = $3, by_handed_link = by_handed_link AND NOT $3, search = $4 WHERE id = $1`,
		u.ID, u.Email, u.IsEmailVerified, u.search())
}

// addressTaken reports whether another user has an address, or may take it back. Inside Keys.Change the result stays
// true, since users are only made there.
func addressTaken(ctx context.Context, q db.Querier, userID int64, email string, now time.Time) (bool, error) {
	return db.One[bool](ctx, q, nil, `
		SELECT EXISTS (SELECT 1 FROM users WHERE email = $2 AND id <> $1)
			OR EXISTS (SELECT 1 FROM address_changes WHERE old_email = $2 AND user_id <> $1 AND changed_at > $3)`,
		userID, email, now.Add(-AddressHeld))
}

// organizationsOf returns the organizations that a user is a member of.
func organizationsOf(ctx context.Context, q db.Querier, userID int64) ([]Organization, error) {
	return db.All(ctx, q, (*Organization).fields, `
		SELECT `+orgColumns+` FROM organizations JOIN memberships m ON m.organization_id = organizations.id
		WHERE m.user_id = $1 ORDER BY organizations.id`, userID)
}

func markByHandedLink(ctx context.Context, tx *db.Tx, u User) error {
	return db.Exec(ctx, tx, `UPDATE users SET by_handed_link = TRUE WHERE id = $1`, u.ID)
}

// addressesChanged lists the addresses that a user has recently changed from or to.
func addressesChanged(ctx context.Context, q db.Querier, userID int64) ([]string, error) {
	return db.All[string](ctx, q, nil, `
		SELECT old_email FROM address_changes WHERE user_id = $1 AND changed_at IS NOT NULL
		UNION SELECT new_email FROM address_changes WHERE user_id = $1 AND changed_at IS NOT NULL`, userID)
}

// UserByID returns a user.
func UserByID(ctx context.Context, q db.Querier, id int64) (User, error) {
	return db.One(ctx, q, (*User).Fields, `SELECT `+UserColumns+` FROM users u WHERE u.id = $1`, id)
}

func (h *Inviters) fields() []any { return append(h.User.Fields(), h.Organization.fields()...) }

func findInviters(ctx context.Context, q db.Querier, userID int64, organizationID string) (Inviters, error) {
	return db.One(ctx, q, (*Inviters).fields, `
		SELECT `+UserColumns+`, `+orgColumns+` FROM users u, organizations WHERE u.id = $1 AND organizations.id = $2`, userID, organizationID)
}

func (m *Mine) fields() []any { return append(m.Organization.fields(), &m.Level) }

// mine selects the organizations of a caller's user; for a key that is bound to
// one, only that one.
const mine = ` FROM organizations JOIN memberships m ON m.organization_id = organizations.id
	WHERE m.user_id = $1 AND (CAST($2 AS TEXT) = '' OR organizations.id = $2)`

func countMine(ctx context.Context, q db.Querier, c access.Caller) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*)`+mine, c.UserID, c.BoundTo)
}

func listMine(ctx context.Context, q db.Querier, c access.Caller, p page.Page) ([]Mine, error) {
	return db.All(ctx, q, (*Mine).fields, `
		SELECT `+orgColumns+`, m.level`+mine+` ORDER BY m.joined_at, organizations.id LIMIT $3 OFFSET $4`, c.UserID, c.BoundTo, p.Limit, p.Offset)
}

var selectMember = selectMemberOf(`memberships`)

// selectMemberOf returns the query for the memberships in a table, or in a query in brackets.
func selectMemberOf(memberships string) string {
	return `
	SELECT m.organization_id, m.level, m.joined_at, m.updated_at, m.last_active_at,
		COALESCE(i.uuid, ''), COALESCE(i.email, ''), COALESCE(i.first_name, ''), COALESCE(i.last_name, ''), ` + UserColumns + `
	FROM ` + memberships + ` m JOIN users u ON u.id = m.user_id LEFT JOIN users i ON i.id = m.invited_by AND i.erased_at IS NULL`
}

func (m *Membership) fields() []any {
	by := &m.InvitedBy
	return append([]any{
		&m.OrganizationID, &m.Level, &m.JoinedAt, &m.UpdatedAt, db.Null(&m.LastActiveAt), &by.UUID, &by.Email, &by.FirstName, &by.LastName,
	}, m.User.Fields()...)
}

// insertMember fails with db.ErrUnique if the user is a member already.
func insertMember(ctx context.Context, tx *db.Tx, j Joining, at time.Time) error {
	_, err := db.Changed(ctx, tx, `
		INSERT INTO memberships (organization_id, user_id, level, joined_at, updated_at, invited_by)
		VALUES ($1, $2, $3, $4, $4, NULLIF(CAST($5 AS BIGINT), 0))`, j.OrganizationID, j.User.ID, j.Level, at, j.InviterID)
	return err
}

func updateMember(ctx context.Context, tx *db.Tx, m Membership) error {
	return db.Exec(ctx, tx, `
		UPDATE memberships SET level = $3, updated_at = $4 WHERE organization_id = $1 AND user_id = $2`,
		m.OrganizationID, m.User.ID, m.Level, m.UpdatedAt)
}

func deleteMember(ctx context.Context, tx *db.Tx, m Membership) error {
	return db.Exec(ctx, tx, `DELETE FROM memberships WHERE organization_id = $1 AND user_id = $2`, m.OrganizationID, m.User.ID)
}

func listMembers(ctx context.Context, q db.Querier, organizationID string) ([]Membership, error) {
	return db.All(ctx, q, (*Membership).fields, selectMember+`
		WHERE m.organization_id = $1 ORDER BY m.joined_at, u.id`, organizationID)
}

// membershipsOf lists a user's memberships in the order in which access.Keys.FlushUse changes them.
func membershipsOf(ctx context.Context, q db.Querier, userID int64) ([]Membership, error) {
	return db.All(ctx, q, (*Membership).fields, selectMember+` WHERE u.id = $1 ORDER BY m.organization_id`, userID)
}

// where returns the condition for the memberships that a filter selects. It looks up users one by one: for a join,
// PostgreSQL might read all users for each membership, as long as it has no statistics.
func (f MemberFilter) where(organizationID string) (condition string, args []any) {
	condition, args = ` WHERE m.organization_id = $1`, []any{organizationID}
	if f.Level != 0 {
		condition += ` AND m.level = ` + queries.Arg(&args, f.Level)
	}
	if f.Search != "" {
		condition += ` AND (SELECT ` + queries.Contains(&args, "search", f.Search) + ` FROM users WHERE id = m.user_id)`
	}
	return condition, args
}

func pageOfMembers(ctx context.Context, q db.Querier, organizationID string, f MemberFilter, p page.Page) ([]Membership, error) {
	query, args := f.query(organizationID, p)
	return db.All(ctx, q, (*Membership).fields, query, args...)
}

// query returns the query for a page: in the order of an index, with users looked up only for the page.
func (f MemberFilter) query(organizationID string, p page.Page) (query string, args []any) {
	const order = ` ORDER BY m.joined_at, m.user_id`
	condition, args := f.where(organizationID)
	shown := `(SELECT * FROM memberships m` + condition + order + ` LIMIT ` + queries.Arg(&args, p.Limit) + ` OFFSET ` + queries.Arg(&args, p.Offset) + `)`
	return selectMemberOf(shown) + order, args
}

func countMembers(ctx context.Context, q db.Querier, organizationID string, f MemberFilter) (int, error) {
	condition, args := f.where(organizationID)
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM memberships m`+condition, args...)
}

func findMemberByUUID(ctx context.Context, q db.Querier, organizationID, userUUID string) (Membership, error) {
	return db.One(ctx, q, (*Membership).fields, selectMember+`
		WHERE m.organization_id = $1 AND u.uuid = $2`, organizationID, userUUID)
}

func findMemberByID(ctx context.Context, q db.Querier, organizationID string, userID int64) (Membership, error) {
	return db.One(ctx, q, (*Membership).fields, selectMember+`
		WHERE m.organization_id = $1 AND u.id = $2`, organizationID, userID)
}

func findMember(ctx context.Context, q db.Querier, organizationID, email string) (Membership, error) {
	return db.One(ctx, q, (*Membership).fields, selectMember+`
		WHERE m.organization_id = $1 AND u.email = $2`, organizationID, email)
}

func countOwners(ctx context.Context, q db.Querier, organizationID string) (int, error) {
	return db.One[int](ctx, q, nil,
		`SELECT COUNT(*) FROM memberships WHERE organization_id = $1 AND level = $2`, organizationID, access.Owner)
}
