package access

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// request is a stored request, which was sent with an Idempotency-Key.
type request struct {
	Answer

	fingerprint string
	leaseEnds   time.Time
	createdAt   time.Time
}

func (r *request) fields() []any {
	return []any{&r.fingerprint, &r.leaseEnds, &r.Status, &r.ETag, &r.Item, db.Null(&r.Body), &r.createdAt}
}

// ofClaim is the condition for the row of a claim.
const ofClaim = ` WHERE user_id = $1 AND key_id = $2 AND session_id = $3 AND organization_id = $4 AND name = $5`

func (c *Claim) row(more ...any) []any {
	return append([]any{c.caller.UserID, c.caller.KeyID, c.caller.SessionID, c.caller.Organization.ID, c.name}, more...)
}

func insertRequest(ctx context.Context, tx *db.Tx, c *Claim, fingerprint string, now time.Time) (made bool, err error) {
	n, err := db.Changed(ctx, tx, `
		INSERT INTO idempotency (user_id, key_id, session_id, organization_id, name, fingerprint, attempt, lease_ends, status, etag, item, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', '', $9) ON CONFLICT DO NOTHING`, c.row(fingerprint, c.attempt, now.Add(answerLease), now)...)
	return n == 1, err
}

func findRequest(ctx context.Context, tx *db.Tx, c *Claim) (request, error) {
	return db.One(ctx, tx, (*request).fields, `
		SELECT fingerprint, lease_ends, status, etag, item, body, created_at FROM idempotency`+ofClaim+" FOR UPDATE", c.row()...)
}

func takeRequest(ctx context.Context, tx *db.Tx, c *Claim, fingerprint string, createdAt, now time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE idempotency SET fingerprint = $6, attempt = $7, lease_ends = $8, status = 0, etag = '', item = '', body = NULL, created_at = $9`+ofClaim,
		c.row(fingerprint, c.attempt, now.Add(answerLease), createdAt)...)
}

func renewRequest(ctx context.Context, tx *db.Tx, c *Claim, now time.Time) error {
	return db.Exec(ctx, tx, `UPDATE idempotency SET lease_ends = $7`+ofClaim+` AND attempt = $6 AND status = 0`, c.row(c.attempt, now.Add(answerLease))...)
}

func updateAnswer(ctx context.Context, tx *db.Tx, c *Claim, a Answer) (int64, error) {
	return db.Changed(ctx, tx, `
		UPDATE idempotency SET status = $7, etag = $8, item = $9, body = $10`+ofClaim+` AND attempt = $6`,
		c.row(c.attempt, a.Status, a.ETag, a.Item, db.Null(&a.Body))...)
}

func finishRequest(ctx context.Context, tx *db.Tx, c *Claim, a Answer) error {
	return db.Exec(ctx, tx, `
		UPDATE idempotency SET status = $7, etag = $8, item = $9, body = $10`+ofClaim+` AND attempt = $6 AND status = 0`,
		c.row(c.attempt, a.Status, a.ETag, a.Item, db.Null(&a.Body))...)
}

func deleteRequest(ctx context.Context, tx *db.Tx, c *Claim) error {
	return db.Exec(ctx, tx, `DELETE FROM idempotency`+ofClaim+` AND attempt = $6 AND status = 0`, c.row(c.attempt)...)
}
