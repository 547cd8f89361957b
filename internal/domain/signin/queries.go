package signin

import (
	"context"
	"strconv"
	"time"

	"foyer/internal/base/digest"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/oidc"
)

// request asks for a link to an address, which may be nobody's.
type request struct {
	id, email string
	createdAt time.Time
}

func insertRequest(ctx context.Context, tx *db.Tx, r request) error {
	return db.Exec(ctx, tx, `INSERT INTO signin_requests (id, email, created_at) VALUES ($1, $2, $3)`, r.id, r.email, r.createdAt)
}

func findRequest(ctx context.Context, q db.Querier, id string) (request, error) {
	return db.One(ctx, q, func(r *request) []any { return []any{&r.id, &r.email, &r.createdAt} },
		`SELECT id, email, created_at FROM signin_requests WHERE id = $1`, id)
}

func deleteRequest(ctx context.Context, tx *db.Tx, id string) error {
	return db.Exec(ctx, tx, `DELETE FROM signin_requests WHERE id = $1`, id)
}

// link is what is stored of a sign-in link.
type link struct {
	hash      string
	userID    int64
	email     string
	mailed    bool
	expiresAt time.Time
}

func (l *link) fields() []any { return []any{&l.hash, &l.userID, &l.email, &l.mailed, &l.expiresAt} }

// lockUser makes other transactions wait if they store something that shows the user's address, or erase the user.
func lockUser(tx *db.Tx, userID int64) { db.Lock(tx, "sign-in of "+strconv.FormatInt(userID, 10)) }

// insertLink fails with access.ErrNotFound if the user no longer has the address.
func insertLink(ctx context.Context, tx *db.Tx, l link) error {
	lockUser(tx, l.userID)
	n, err := db.Changed(ctx, tx, `
		INSERT INTO signin_links (hash, user_id, email, mailed, expires_at)
		SELECT $1, id, email, $4, $5 FROM users WHERE id = $2 AND email = $3`, l.hash, l.userID, l.email, l.mailed, l.expiresAt)
	if err == nil && n == 0 {
		return access.ErrNotFound
	}
	return err
}

// findLink finds a link to a user whose address is still the one that it was made for.
func findLink(ctx context.Context, q db.Querier, hash, forUpdate string) (link, error) {
	return db.One(ctx, q, (*link).fields, `
		SELECT hash, user_id, email, mailed, expires_at FROM signin_links
		WHERE hash = $1 AND email = (SELECT email FROM users WHERE id = signin_links.user_id)`+forUpdate, hash)
}

func deleteLink(ctx context.Context, tx *db.Tx, hash string) error {
	return db.Exec(ctx, tx, `DELETE FROM signin_links WHERE hash = $1`, hash)
}

func findIdentity(ctx context.Context, q db.Querier, p oidc.Claims) (userID int64, err error) {
	return db.One[int64](ctx, q, nil, `SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2`, p.Issuer, p.Subject)
}

func insertIdentity(ctx context.Context, tx *db.Tx, p oidc.Claims, userID int64, at time.Time) error {
	return db.Exec(ctx, tx, `INSERT INTO identities (issuer, subject, user_id, created_at) VALUES ($1, $2, $3, $4)`, p.Issuer, p.Subject, userID, at)
}

// deleteIdentities returns the issuers of the identities that it deletes.
func deleteIdentities(ctx context.Context, tx *db.Tx, userID int64, since time.Time) ([]string, error) {
	return db.All[string](ctx, tx, nil, `DELETE FROM identities WHERE user_id = $1 AND created_at >= $2 RETURNING issuer`, userID, since)
}

// found is a user with an address.
type found struct {
	id         int64
	identified bool // an account at the provider is already theirs
}

func findUser(ctx context.Context, tx *db.Tx, email string) (found, error) {
	return db.One(ctx, tx, func(f *found) []any { return []any{&f.id, &f.identified} }, `
		SELECT id, EXISTS (SELECT 1 FROM identities WHERE user_id = users.id) FROM users WHERE email = $1`, email)
}

// insertState fails with db.ErrUnique if the state has come back before.
func insertState(ctx context.Context, tx *db.Tx, state string, expires time.Time) error {
	return db.Exec(ctx, tx, `INSERT INTO signin_states (hash, expires_at) VALUES ($1, $2)`, digest.SHA256(state), expires)
}

func stateUsed(ctx context.Context, q db.Querier, state string) (bool, error) {
	return db.One[bool](ctx, q, nil, `SELECT EXISTS (SELECT 1 FROM signin_states WHERE hash = $1)`, digest.SHA256(state))
}
