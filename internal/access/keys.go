package access

import (
	"context"
	"strings"
	"time"

	"foyer/internal/db"
	"foyer/internal/fault"
)

// Key is an API key of a user, without its secret.
type Key struct {
	ID             int64
	UserID         int64
	UserEmail      string
	OrganizationID string // bound to this one; "": to all of the user's
	Scope          Scope
	CreatedAt      time.Time
	ExpiresAt      time.Time // zero: never
	LastUsedAt     time.Time // to the hour; zero: not yet
}

// Draft says what a new key shall be.
type Draft struct {
	UserID         int64
	OrganizationID string
	Scope          Scope
	ExpiresIn      time.Duration // 0: never
}

// Create makes a key at random and returns it and its secret.
func (k *Keys) Create(ctx context.Context, d Draft) (Key, string, error) {
	secret := NewKey()
	var key Key
	err := k.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		key, err = insertKey(ctx, tx, k.draw(d), hashOf(secret))
		return err
	})
	return key, secret, err
}

// Insert stores a key that was made elsewhere.
func (k *Keys) Insert(ctx context.Context, tx *db.Tx, d Draft, secret string) (Key, error) {
	if !WellFormed(secret) {
		return Key{}, fault.Field(fault.Invalid, "key", "Must be a key as `foyer key generate` prints one: foy_, 37 base62 characters and their checksum.")
	}
	return insertKey(ctx, tx, k.draw(d), hashOf(secret))
}

// draw makes a key out of a draft.
func (k *Keys) draw(d Draft) Key {
	key := Key{UserID: d.UserID, OrganizationID: strings.ToLower(d.OrganizationID), Scope: d.Scope, CreatedAt: k.DB.Now()}
	if d.ExpiresIn != 0 {
		key.ExpiresAt = key.CreatedAt.Add(d.ExpiresIn)
	}
	return key
}

// List returns all keys, in the order they were made.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	return listKeys(ctx, k.DB)
}

// Revoke removes a key: this server refuses it at once, others within 2 seconds.
func (k *Keys) Revoke(ctx context.Context, id int64) error {
	return k.Change(ctx, func(tx *db.Tx) error {
		n, err := deleteKey(ctx, tx, id)
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, "There is no key %d.", id)
		}
		return err
	})
}

// FlushUse writes down when keys were used last. Requests only note it, so that
// reading costs no write.
func (k *Keys) FlushUse(ctx context.Context) error {
	return k.cache.uses.Flush(ctx, k.DB, markUsed)
}

// keepExpired is how long expired keys stay listed, unless their user makes another.
const keepExpired = 30 * 24 * time.Hour

// Tidy removes keys that expired more than 30 days ago. What is in memory of them may stay:
// it is refused for its age.
func (k *Keys) Tidy(ctx context.Context) error {
	before := k.DB.Now().Add(-keepExpired)
	return k.DB.InTx(ctx, func(tx *db.Tx) error { return deleteExpired(ctx, tx, before) })
}
