package access

import (
	"context"
	"errors"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A caller who has lost a right since they were admitted cannot store anything by it: the server that took the right
// refuses them at once, even in the same transaction, and others do so within 2 seconds.
func TestConfirm(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := newClock()
		here, there := c.keys(dbtest.Open(t, url)), c.keys(dbtest.Open(t, url))
		userID, _ := withKeys(t, here)
		join(t, here, userID, acme)
		join(t, here, userID, "01880000-0000-7000-8000-000000000001") // where they keep their rights
		key, secret := create(t, here, Draft{UserID: userID, Scope: All, ExpiresIn: time.Hour})
		var callers []Caller
		for _, k := range []*Keys{here, there} {
			callers = append(callers, enter(t, k, secret))
		}
		mayAdminister := func(c Caller) error {
			if c.Level < Admin {
				return ErrNotFound
			}
			return nil
		}
		confirm := func(k *Keys, caller Caller) error {
			return k.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := ConfirmCached(ctx, tx, caller, k.Now(), mayAdminister)
				return err
			})
		}
		check(t, errors.Join(confirm(here, callers[0]), confirm(there, callers[1])))
		var inside error
		err := here.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := db.Exec(ctx, tx, `UPDATE memberships SET level = 1 WHERE user_id = $1 AND organization_id = $2`, userID, acme); err != nil {
				return err
			}
			_, inside = ConfirmCached(ctx, tx, callers[0], c.now, mayAdminister)
			return nil
		})
		if err != nil || !errors.Is(inside, ErrChanged) {
			t.Errorf("lowered, in the transaction: %v, %v", inside, err)
		}
		if err := confirm(here, callers[0]); !errors.Is(err, ErrChanged) {
			t.Errorf("lowered: %v", err)
		}
		c.now = c.now.Add(maxAge)
		if err := confirm(there, callers[1]); !errors.Is(err, ErrChanged) {
			t.Errorf("lowered, on another server: %v", err)
		}
		check(t, here.Revoke(t.Context(), key.ID))
		err = here.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return ConfirmSelf(ctx, tx, callers[0], c.now) })
		if !errors.Is(err, ErrChanged) {
			t.Errorf("the key is revoked: %v", err)
		}
		if err := confirm(here, callers[0]); !errors.Is(err, ErrChanged) {
			t.Errorf("the key is revoked, inside the organization: %v", err)
		}
		if err := confirm(here, Caller{}); err != nil {
			t.Errorf("an operator: %v", err)
		}
	})
}

// An expired key is refused, too, and so is a session that began with it.
func TestConfirmSelf(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, ids := withKeys(t, k, time.Hour)
		id := signedIn(t, k, SessionDraft{UserID: userID, KeyID: ids[0], Method: ByKey})
		confirm := func(caller Caller) error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return ConfirmSelf(ctx, tx, caller, k.Now()) })
		}
		callers := []Caller{{UserID: userID, KeyID: ids[0]}, id.Caller()}
		for _, caller := range callers {
			if err := confirm(caller); err != nil {
				t.Errorf("%+v: %v", caller, err)
			}
		}
		c.now = c.now.Add(time.Hour)
		for _, caller := range callers {
			if err := confirm(caller); !errors.Is(err, ErrChanged) {
				t.Errorf("%+v, when the key has expired: %v", caller, err)
			}
		}
		if err := confirm(Caller{UserID: userID}); err != nil {
			t.Errorf("an operator: %v", err)
		}
	})
}

// A key that has expired is refused even while memory is up to date.
func TestConfirmCachedExpires(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		join(t, k, userID, acme)
		_, secret := create(t, k, Draft{UserID: userID, Scope: All, ExpiresIn: time.Hour})
		caller := enter(t, k, secret)
		for _, at := range []struct {
			after time.Duration
			want  error
		}{{time.Hour - time.Second, nil}, {time.Hour, ErrChanged}} {
			now := c.now.Add(at.after)
			check(t, k.verify(t.Context(), now))
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := ConfirmCached(ctx, tx, caller, now, func(Caller) error { return nil })
				return err
			})
			if !k.holds(caller.version, now) || !errors.Is(err, at.want) {
				t.Errorf("after %s: %v, want %v", at.after, err, at.want)
			}
		}
	})
}
