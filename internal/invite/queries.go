package invite

import (
	"context"

	"foyer/internal/db"
	"foyer/internal/org"
	"foyer/internal/page"
)

const columns = `i.id, i.organization_id, i.target_email, i.first_name, i.emailing_attempt_made, i.level, i.message,
	i.created_at, i.updated_at, i.expires_at, ` + org.UserColumns

func (i *Invite) fields() []any {
	return append([]any{
		&i.ID, &i.OrganizationID, &i.TargetEmail, &i.FirstName, &i.EmailAttempted, &i.Level, &i.Message,
		&i.CreatedAt, &i.UpdatedAt, &i.ExpiresAt,
	}, i.CreatedBy.Fields()...)
}

const selectInvite = `SELECT ` + columns + ` FROM invites i JOIN users u ON u.id = i.created_by `

func insert(ctx context.Context, tx *db.Tx, i Invite) error {
	return db.Run(ctx, tx, `
		INSERT INTO invites (id, organization_id, target_email, first_name, level, message, created_by, created_at, updated_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)`,
		i.ID, i.OrganizationID, i.TargetEmail, i.FirstName, i.Level, i.Message, i.CreatedBy.ID, i.CreatedAt, i.ExpiresAt)
}

func find(ctx context.Context, q db.Querier, organizationID, id string) (Invite, error) {
	return db.One(ctx, q, (*Invite).fields, selectInvite+`WHERE i.organization_id = $1 AND i.id = $2`, organizationID, id)
}

func findByEmail(ctx context.Context, q db.Querier, organizationID, email string) (Invite, error) {
	return db.One(ctx, q, (*Invite).fields, selectInvite+`WHERE i.organization_id = $1 AND i.target_email = $2`, organizationID, email)
}

func list(ctx context.Context, q db.Querier, organizationID string, p page.Page) ([]Invite, error) {
	return db.All(ctx, q, (*Invite).fields, selectInvite+`
		WHERE i.organization_id = $1 ORDER BY i.created_at DESC, i.id DESC LIMIT $2 OFFSET $3`, organizationID, p.Limit, p.Offset)
}

// remove reports how many it removed: another request may have been quicker.
func remove(ctx context.Context, tx *db.Tx, organizationID, id string) (int64, error) {
	return db.Exec(ctx, tx, `DELETE FROM invites WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

func number(n *int) []any { return []any{n} }

// pendingNow is how many invites an organization has, and a number that is another
// after any of them has changed.
type pendingNow struct {
	count   int
	version int64
}

func (p *pendingNow) fields() []any { return []any{&p.count, &p.version} }

func countPending(ctx context.Context, q db.Querier, organizationID string) (pendingNow, error) {
	return db.One(ctx, q, (*pendingNow).fields, `
		SELECT CAST(COALESCE(SUM(pending), 0) AS BIGINT), CAST(COALESCE(SUM(version), 0) AS BIGINT)
		FROM invite_counts WHERE organization_id = $1`, organizationID)
}

// addCount keeps invite_counts exact. A transaction does it before anything else:
// it then has the organization's invites to itself until it ends.
func addCount(ctx context.Context, tx *db.Tx, organizationID string, n int) error {
	return db.Run(ctx, tx, `
		INSERT INTO invite_counts (organization_id, pending, version) VALUES ($1, $2, 1)
		ON CONFLICT (organization_id) DO UPDATE SET pending = invite_counts.pending + $2, version = invite_counts.version + 1`,
		organizationID, n)
}

func user(ctx context.Context, q db.Querier, id int64) (org.User, error) {
	return db.One(ctx, q, (*org.User).Fields, `SELECT `+org.UserColumns+` FROM users u WHERE u.id = $1`, id)
}

func isMember(ctx context.Context, q db.Querier, organizationID, email string) (bool, error) {
	n, err := db.One(ctx, q, number, `
		SELECT COUNT(*) FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.organization_id = $1 AND u.email = $2`, organizationID, email)
	return n > 0, err
}
