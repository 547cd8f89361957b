package access

import (
	"context"
	"errors"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// OwnDraft is the key that a caller wants for themselves.
type OwnDraft struct {
	Scope          Scope
	Name           patch.Field[string]    // absent: "key N"
	OrganizationID string                 // "": that of the caller's key, or none
	ExpiresAt      patch.Field[time.Time] // absent: that of the caller's key, or never
}

// Own returns a page of the caller's keys, in the order they were made. A key that is
// bound to an organization sees only keys that are bound to the same.
func (k *Keys) Own(ctx context.Context, c Caller, p page.Page) (page.Found[Key], error) {
	return queries.Page(ctx, k.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) { return countOwnKeys(ctx, q, c) },
		func(ctx context.Context, q db.Querier) ([]Key, error) { return listOwnKeys(ctx, q, c, p) })
}

// CreateOwn makes a key that can do no more, and lives no longer, than the caller's.
func (k *Keys) CreateOwn(ctx context.Context, c Caller, d OwnDraft) (Key, string, error) {
	if err := d.CheckName(); err != nil {
		return Key{}, "", err
	}
	key, err := k.limit(c, d)
	if err != nil {
		return Key{}, "", err
	}
	secret := NewKey()
	var made Key
	err = k.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if err := k.mayAdd(ctx, tx, c); err != nil {
			return err
		}
		if err := mayBind(ctx, tx, c, key.OrganizationID); err != nil {
			return err
		}
		if made, err = k.insert(ctx, tx, c, key, secret); err != nil {
			return err
		}
		return KeepSecret(ctx, tx)
	})
	return made, secret, err
}

// CheckName returns what is wrong with the name of a draft.
func (d OwnDraft) CheckName() error { return checkKeyName(d.Name) }

// maxOwn is how many keys a user may have, unless the operator makes more: each key may make as many requests as any
// other.
const maxOwn = 100

// mayAdd reports whether c may make another key now, and locks the user's keys until tx ends. It removes the user's
// expired keys, so that making many does not fill the table.
func (k *Keys) mayAdd(ctx context.Context, tx *db.Tx, c Caller) error {
	if err := lockKeys(ctx, tx, c.UserID); err != nil {
		return err
	}
	now := k.DB.Now()
	if err := deleteExpiredOf(ctx, tx, c.UserID, now); err != nil {
		return err
	}
	if err := findCredential(ctx, tx, c, now); errors.Is(err, db.ErrNoRow) {
		return errBadKey // the caller's key or session has ended since they were admitted: the new key would outlive it
	} else if err != nil {
		return err
	}
	n, err := countKeys(ctx, tx, c.UserID)
	if err == nil && n >= maxOwn {
		return fault.New(fault.Invalid, "At most %d keys of yours may be valid at a time, and %d are: revoke some first.", maxOwn, n)
	}
	return err
}

// mayBind refuses to bind a key to an organization that c is not in; "": it is bound to none.
func mayBind(ctx context.Context, tx *db.Tx, c Caller, organizationID string) error {
	if organizationID == "" {
		return nil
	}
	member, err := isMember(ctx, tx, organizationID, c.UserID)
	if err == nil && !member {
		return errNotYours
	}
	return err
}

var errNotYours = fault.Field(fault.Invalid, "organization_id", "Must be an organization of yours.")

// limit returns the key for a draft, unless it could do what c's cannot.
func (k *Keys) limit(c Caller, d OwnDraft) (Key, error) {
	if !c.Scope.Includes(d.Scope) {
		return Key{}, fault.New(fault.Denied, "A key cannot make one with more scopes than its own: %s.", c.Scope)
	}
	key := k.newKey(Draft{UserID: c.UserID, OrganizationID: d.OrganizationID, Name: d.Name.Value, Scope: d.Scope})
	key.ExpiresAt = d.ExpiresAt.Or(c.keyExpires)
	if key.OrganizationID == "" {
		key.OrganizationID = c.BoundTo
	}
	switch {
	case c.BoundTo != "" && key.OrganizationID != c.BoundTo:
		return Key{}, errNotYours
	case !d.ExpiresAt.Set:
		return key, nil
	case !key.ExpiresAt.After(key.CreatedAt):
		return Key{}, fault.Field(fault.Invalid, "expires_at", "Must be in the future.")
	case c.endsBefore(key):
		return Key{}, fault.New(fault.Denied, "A key cannot make one that lives longer than itself.")
	}
	return key, nil
}

// RevokeOwn removes one of the keys that Own lists, unless it can do more, or lives longer, than the caller's. A key
// that is not bound belongs to the person, and a bound key may not revoke it.
func (k *Keys) RevokeOwn(ctx context.Context, c Caller, id int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := ConfirmSelf(ctx, tx, c, k.DB.Now()); err != nil {
			return err
		}
		key, err := findOwnKey(ctx, tx, c, id)
		if err != nil {
			return OrNotFound(err)
		}
		if key.OrganizationID == "" {
			if err := MaySeeSelf(c); err != nil {
				return err
			}
		}
		if err := c.MayRevoke(key); err != nil {
			return err
		}
		return k.revokeWhere(ctx, tx, c, `id = $1`, key.ID)
	})
}

// MayRevoke reports whether a caller may revoke a key of their own.
func (c Caller) MayRevoke(k Key) error {
	if !c.Scope.Includes(k.Scope) || c.endsBefore(k) {
		return fault.New(fault.Denied, "A key cannot revoke one that can do more, or lives longer, than itself.")
	}
	return nil
}

// endsBefore reports whether the caller's key ends before another.
func (c Caller) endsBefore(k Key) bool {
	return !c.keyExpires.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(c.keyExpires))
}
