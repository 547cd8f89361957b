package access

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/clock"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Key is an API key of a user, without its secret.
type Key struct {
	ID             int64
	UserID         int64
	UserEmail      string
	Name           string // by which its user knows it
	Prefix         string // the first characters of the key
	OrganizationID string // the one that it opens; "": all of the user's
	Scope          Scope
	CreatedAt      time.Time
	ExpiresAt      time.Time // zero: never
	LastUsedAt     time.Time // to the hour; zero: not yet
}

// Draft describes a new key.
type Draft struct {
	UserID         int64
	OrganizationID string
	Name           string // "": "key N"
	Scope          Scope
	ExpiresIn      time.Duration // 0: never
}

// Create makes a key at random, for an operator, and returns it and its secret.
func (k *Keys) Create(ctx context.Context, d Draft) (Key, string, error) {
	if d.Name != "" {
		if err := checkKeyName(patch.Of(d.Name)); err != nil {
			return Key{}, "", err
		}
	}
	secret := NewKey()
	var key Key
	err := k.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		key, err = k.insert(ctx, tx, Caller{}, k.newKey(d), secret)
		return err
	})
	return key, secret, err
}

// Insert stores a key that was made elsewhere.
func (k *Keys) Insert(ctx context.Context, tx *db.Tx, by Caller, d Draft, secret string) (Key, error) {
	if !WellFormed(secret) {
		return Key{}, fault.Field(fault.Invalid, "key", "Must be a key as `foyer key generate` prints one: foy_, 37 base62 characters and their checksum.")
	}
	return k.insert(ctx, tx, by, k.newKey(d), secret)
}

// insert stores a key, and records that in each organization that it opens.
func (k *Keys) insert(ctx context.Context, tx *db.Tx, by Caller, key Key, secret string) (Key, error) {
	var err error
	if key.Name == "" {
		if key.Name, err = nextName(ctx, tx, key.UserID); err != nil {
			return Key{}, err
		}
	}
	if key, err = insertKey(ctx, tx, key, secret); err != nil {
		return Key{}, err
	}
	changes := []activity.Change{activity.Changed("scopes", nil, key.Scope.Names())}
	if !key.ExpiresAt.IsZero() {
		changes = append(changes, activity.Changed("expires_at", nil, key.ExpiresAt.UTC().Format(activity.TimeLayout)))
	}
	return key, k.record(ctx, tx, by, key, activity.Created, changes)
}

// nextName returns "key N", where N is one more than the greatest in the names of the user's keys.
func nextName(ctx context.Context, tx *db.Tx, userID int64) (string, error) {
	names, err := keyNames(ctx, tx, userID)
	last := int64(0)
	for _, name := range names {
		if n, ok := strings.CutPrefix(name, "key "); ok {
			last = max(last, patch.ID(n))
		}
	}
	return "key " + strconv.FormatInt(last+1, 10), err
}

// revokeWhere removes, inside Change, the keys that a condition selects. It locks them, and then the sessions that began
// with them, in the order in which FlushUse changes them.
func (k *Keys) revokeWhere(ctx context.Context, tx *db.Tx, by Caller, where string, args ...any) error {
	keys, err := db.All(ctx, tx, (*Key).fields, `SELECT `+keyColumns+` FROM keys WHERE `+where+` ORDER BY id FOR UPDATE`, args...)
	if err != nil {
		return err
	}
	if err := lockBegunWith(ctx, tx, where, args...); err != nil {
		return err
	}
	for _, key := range keys {
		if err := k.revoke(ctx, tx, by, key); err != nil {
			return err
		}
	}
	return nil
}

// revoke removes a key and ends the sessions that began with it, all of them locked, and records that in each organization
// that it opened.
func (k *Keys) revoke(ctx context.Context, tx *db.Tx, by Caller, key Key) error {
	sessions, err := begunWith(ctx, tx, key.ID)
	if err != nil {
		return err
	}
	if err := k.end(ctx, tx, by, sessions); err != nil {
		return err
	}
	if err := deleteKey(ctx, tx, key.ID); err != nil {
		return err
	}
	return k.record(ctx, tx, by, key, activity.Revoked, nil)
}

func (k *Keys) record(ctx context.Context, tx *db.Tx, by Caller, key Key, verb activity.Verb, changes []activity.Change) error {
	return k.Record(ctx, tx, key, by.Did(activity.Entry{
		Scope: activity.Key, ItemID: strconv.FormatInt(key.ID, 10), Verb: verb, Name: key.UserEmail, Changes: changes,
	}))
}

// Record writes an entry in each organization that a key opens, or would open: all of its user's, or only the one that
// it is bound to.
func (k *Keys) Record(ctx context.Context, tx *db.Tx, key Key, e activity.Entry) error {
	opens, err := opened(ctx, tx, key)
	if err != nil {
		return err
	}
	for _, e.OrganizationID = range opens {
		if err := activity.Record(ctx, tx, e, k.DB.Now()); err != nil {
			return err
		}
	}
	return nil
}

// maxKeyName is the length of a key's name, in characters.
const maxKeyName = 64

func checkKeyName(name patch.Field[string]) error {
	return patch.RequiredText("name", name, maxKeyName)
}

// newKey makes a key out of a draft.
func (k *Keys) newKey(d Draft) Key {
	key := Key{UserID: d.UserID, Name: strings.TrimSpace(d.Name), OrganizationID: strings.ToLower(d.OrganizationID), Scope: d.Scope, CreatedAt: k.DB.Now()}
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
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		key, err := findKey(ctx, tx, id)
		if errors.Is(err, db.ErrNoRow) {
			return fault.New(fault.NotFound, "There is no key %d.", id)
		} else if err != nil {
			return err
		}
		return k.revokeWhere(ctx, tx, Caller{}, `id = $1`, key.ID)
	})
}

// FlushUse stores when keys and sessions were last used and members last active. Requests only note that in memory, so
// that a read costs no write.
func (k *Keys) FlushUse(ctx context.Context) error {
	return errors.Join(k.cache.keyUses.Flush(ctx, k.DB, markKeyUsed), k.cache.sessionUses.Flush(ctx, k.DB, markSessionUsed),
		k.cache.memberUses.Flush(ctx, k.DB, markMemberActive), k.cache.keyOrganizationUses.Flush(ctx, k.DB, markKeyUsedIn))
}

// keepExpired is how long expired keys stay listed, unless their user makes another.
const keepExpired = 30 * 24 * time.Hour

// Tidy removes keys that expired more than 30 days ago, answers older than keepAnswers, and sessions that are over.
// Those that stay in memory are refused for their age.
func (k *Keys) Tidy(ctx context.Context) error {
	now := k.DB.Now()
	return errors.Join(
		queries.DeleteOld(ctx, k.DB, `idempotency`, `user_id, key_id, session_id, organization_id, name`, `created_at < $1 ORDER BY created_at`, now.Add(-keepAnswers)),
		queries.DeleteOld(ctx, k.DB, `keys`, `id`, `expires_at < $1 ORDER BY expires_at`, now.Add(-keepExpired)),
		queries.DeleteOld(ctx, k.DB, `sessions`, `id`, `last_used_at < $1 OR last_used_at > $2 ORDER BY last_used_at`, now.Add(-sessionIdle), now.Add(clock.Differ)))
}
