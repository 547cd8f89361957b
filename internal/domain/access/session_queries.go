package access

import (
	"context"
	"time"

	"foyer/internal/base/clock"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
)

const sessionColumns = `s.id, s.method, s.created_at, s.last_used_at, s.address, s.user_agent, k.expires_at`

func (s *Session) fields() []any {
	return []any{&s.ID, &s.Method, &s.CreatedAt, &s.LastUsedAt, &s.Address, &s.UserAgent, db.Null(&s.keyExpires)}
}

func insertSession(ctx context.Context, tx *db.Tx, d SessionDraft, h hash, now time.Time) (id int64, err error) {
	return db.Insert(ctx, tx, `
		INSERT INTO sessions (user_id, hash, method, key_id, created_at, last_used_at, address, user_agent)
		VALUES ($1, $2, $3, $4, $5, $5, $6, $7)`,
		d.UserID, h.String(), string(d.Method), db.Null(&d.KeyID), now, d.Address, d.UserAgent)
}

// begun holds what the activity records about a session.
type begun struct {
	id, userID int64
	email      string // the user's
	boundTo    string // the one organization that it opens; "": all of the user's
	method     Method
}

func (b *begun) fields() []any { return []any{&b.id, &b.userID, &b.method, &b.email, &b.boundTo} }

const selectBegun = `
	SELECT id, user_id, method, (SELECT email FROM users WHERE users.id = user_id),
		COALESCE((SELECT organization_id FROM keys WHERE keys.id = key_id), '') FROM sessions`

func findBegun(ctx context.Context, tx *db.Tx, userID, id int64) (begun, error) {
	return db.One(ctx, tx, (*begun).fields, selectBegun+` WHERE user_id = $1 AND id = $2`, userID, id)
}

// lockBegun locks a user's sessions until this transaction ends, in the order in which FlushUse changes them, and
// returns them.
func lockBegun(ctx context.Context, tx *db.Tx, userID int64) ([]begun, error) {
	return db.All(ctx, tx, (*begun).fields, selectBegun+` WHERE user_id = $1 ORDER BY id FOR UPDATE`, userID)
}

// lockBegunWith is lockBegun for the sessions that began with the keys that a condition selects.
func lockBegunWith(ctx context.Context, tx *db.Tx, where string, args ...any) error {
	return db.Exec(ctx, tx, `SELECT 1 FROM sessions WHERE key_id IN (SELECT id FROM keys WHERE `+where+`) ORDER BY id FOR UPDATE`, args...)
}

func begunWith(ctx context.Context, tx *db.Tx, keyID int64) ([]begun, error) {
	return db.All(ctx, tx, (*begun).fields, selectBegun+` WHERE key_id = $1 ORDER BY id`, keyID)
}

// superfluous returns the user's sessions that a new one ends: the least recently used of those that began with the
// same key; 0: without a key. Otherwise a key with few scopes could end sessions that can do more.
func superfluous(ctx context.Context, tx *db.Tx, userID, keyID int64) ([]begun, error) {
	return db.All(ctx, tx, (*begun).fields, selectBegun+`
		WHERE user_id = $1 AND COALESCE(key_id, 0) = $4 ORDER BY last_used_at DESC, id DESC LIMIT $3 OFFSET $2`,
		userID, maxSessions-1, maxSessions, keyID)
}

// live selects the sessions of a user that are not over. A session whose last use is in the future, because a clock was
// wrong, is over: it would last until then.
const live = `
	FROM sessions s LEFT JOIN keys k ON k.id = s.key_id
	WHERE s.user_id = $1 AND s.created_at > $2 AND s.last_used_at > $3 AND s.last_used_at <= $5 AND (k.expires_at IS NULL OR k.expires_at > $4)`

// liveAt are the arguments of live.
func liveAt(userID int64, now time.Time) []any {
	return []any{userID, now.Add(-SessionTime), now.Add(-sessionIdle), now, now.Add(clock.Differ)}
}

func countSessions(ctx context.Context, q db.Querier, userID int64, now time.Time) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*)`+live, liveAt(userID, now)...)
}

func listSessions(ctx context.Context, q db.Querier, userID int64, now time.Time, p page.Page) ([]Session, error) {
	return db.All(ctx, q, (*Session).fields, `SELECT `+sessionColumns+live+` ORDER BY s.id LIMIT $6 OFFSET $7`,
		append(liveAt(userID, now), p.Limit, p.Offset)...)
}

func findSession(ctx context.Context, q db.Querier, userID, id int64, now time.Time) (Session, error) {
	return db.One(ctx, q, (*Session).fields, `SELECT `+sessionColumns+live+` AND s.id = $6`, append(liveAt(userID, now), id)...)
}

// deleteAddressChange removes the change of address that was asked for in a session, unless it is done.
func deleteAddressChange(ctx context.Context, tx *db.Tx, s begun) error {
	return db.Exec(ctx, tx, `DELETE FROM address_changes WHERE user_id = $1 AND session_id = $2 AND changed_at IS NULL`, s.userID, s.id)
}

func deleteSession(ctx context.Context, tx *db.Tx, id int64) error {
	return db.Exec(ctx, tx, `DELETE FROM sessions WHERE id = $1`, id)
}

func markSessionUsed(ctx context.Context, tx *db.Tx, session lastuse.Used, at time.Time) error {
	return db.Exec(ctx, tx, `UPDATE sessions SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`, session.ID, at)
}
