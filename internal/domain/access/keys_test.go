package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/lastuse"
)

// check ends the test with an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create makes a key, and returns it with its secret.
func create(t *testing.T, k *Keys, d Draft) (key Key, secret string) {
	t.Helper()
	key, secret, err := k.Create(t.Context(), d)
	check(t, err)
	return key, secret
}

// withKeys makes a user with a key for each lifetime in live; 0: forever.
func withKeys(t *testing.T, k *Keys, live ...time.Duration) (userID int64, ids []int64) {
	t.Helper()
	userID = newUser(t, k, "ada")
	for _, lives := range live {
		key, _ := create(t, k, Draft{UserID: userID, Scope: All, ExpiresIn: lives})
		ids = append(ids, key.ID)
	}
	return userID, ids
}

// newUser makes a user.
func newUser(t *testing.T, k *Keys, name string) (id int64) {
	t.Helper()
	err := k.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		id, err = db.Insert(ctx, tx, `
			INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at)
			VALUES ($1, $1, $2, '', '', FALSE, $3)`, name, name+"@x.example", k.DB.Now())
		return err
	})
	check(t, err)
	return id
}

const acme = "01890000-0000-7000-8000-000000000001"

// enter returns the caller in the organization acme that a key stands for.
func enter(t *testing.T, k *Keys, key string) Caller {
	t.Helper()
	id, err := k.Identify(t.Context(), key)
	check(t, err)
	c, err := k.Enter(t.Context(), id, acme)
	check(t, err)
	return c
}

// join makes an organization with a user as its admin.
func join(t *testing.T, k *Keys, userID int64, organizationID string) {
	t.Helper()
	err := k.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return errors.Join(
			db.Exec(ctx, tx, `
				INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
				VALUES ($1, 'Acme', 9, TRUE, FALSE, '', $2)`, organizationID, k.Now()),
			db.Exec(ctx, tx, `
				INSERT INTO memberships (organization_id, user_id, level, joined_at, updated_at) VALUES ($1, $2, 8, $3, $3)`, organizationID, userID, k.Now()))
	})
	check(t, err)
}

// A key without a name gets one that no other key of its user has, even after some were removed.
func TestNextName(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, ids := withKeys(t, k, 0, 0, 0)
		check(t, k.Revoke(t.Context(), ids[1]))
		create(t, k, Draft{UserID: newUser(t, k, "bea"), Scope: All, Name: "key 9"})
		for _, want := range []string{"key 4", "laptop", "key 07", "key 5"} {
			draft := Draft{UserID: userID, Scope: All, Name: want}
			if want == "key 4" || want == "key 5" {
				draft.Name = ""
			}
			if key, _, err := k.Create(t.Context(), draft); err != nil || key.Name != want {
				t.Errorf("it is called %q, want %q, %v", key.Name, want, err)
			}
		}
	})
}

// The name of a key that an operator makes keeps the rules of all keys' names.
func TestNameOfAnOperatorsKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID := newUser(t, k, "ada")
		for name, want := range map[string]fault.Kind{" ": fault.Blank, strings.Repeat("ü", maxKeyName+1): fault.TooLong} {
			if _, _, err := k.Create(t.Context(), Draft{UserID: userID, Scope: All, Name: name}); !fault.Is(err, want) {
				t.Errorf("%q: %v, want the kind %v", name, err, want)
			}
		}
		if key, _, err := k.Create(t.Context(), Draft{UserID: userID, Scope: All, Name: " laptop "}); err != nil || key.Name != "laptop" {
			t.Errorf("it is called %q, %v", key.Name, err)
		}
	})
}

// Making a key and noting the use of several take their locks in the same order.
func TestCreateOwnWhileUseIsNoted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, ids := withKeys(t, k, 0, time.Second)
		at := d.Now().Add(time.Second)
		d.Now = func() time.Time { return at }
		start, end := dbtest.Meanwhile(t, d, func() error {
			_, _, err := k.CreateOwn(t.Context(), Caller{UserID: userID, KeyID: ids[0], Scope: All}, OwnDraft{Scope: All})
			return err
		})
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := markKeyUsed(t.Context(), tx, lastuse.Used{ID: ids[0]}, at); err != nil {
				return err
			}
			if _, err := db.One[int](t.Context(), tx, nil, `SELECT 1`); err != nil { // it is marked by then
				return err
			}
			start()
			return markKeyUsed(t.Context(), tx, lastuse.Used{ID: ids[1]}, at)
		})
		if err != nil {
			t.Error(err)
		}
		end()
	})
}

// Noting the use of a key waits while the key is revoked, and does not fail because of that.
func TestUseIsNotedWhileRevoked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, ids := withKeys(t, k, 0)
		join(t, k, userID, acme)
		start, end := dbtest.Meanwhile(t, d, func() error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return markKeyUsedIn(ctx, tx, lastuse.Used{ID: ids[0], OrganizationID: acme}, d.Now())
			})
		})
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := deleteKey(ctx, tx, ids[0]); err != nil {
				return err
			}
			_, err := db.One[int](ctx, tx, nil, `SELECT 1`) // it is deleted by then
			start()
			return err
		})
		if err != nil {
			t.Error(err)
		}
		end()
	})
}

// No key is bound to an organization while its user's membership ends: the key would not be revoked with it.
func TestCreateOwnWhileRemoved(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		k := NewKeys(dbtest.Open(t, url))
		userID, ids := withKeys(t, k, 0)
		join(t, k, userID, acme)
		made := make(chan error, 1)
		create := sync.OnceFunc(func() {
			go func() {
				_, _, err := k.CreateOwn(t.Context(), Caller{UserID: userID, KeyID: ids[0], Scope: All}, OwnDraft{Scope: All, OrganizationID: acme})
				made <- err
			}()
		})
		err := k.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := k.RevokeBound(ctx, tx, Caller{}, acme, userID); err != nil {
				return err
			}
			create()
			if err := dbtest.AwaitWaiting(t.Context(), k.DB, 1, made); err != nil {
				return err
			}
			return db.Exec(ctx, tx, `DELETE FROM memberships WHERE user_id = $1`, userID)
		})
		if failed := <-made; err != nil || !fault.Is(failed, fault.Invalid) {
			t.Errorf("%v, %v", err, failed)
		}
		if left, err := k.List(t.Context()); err != nil || len(left) != 1 {
			t.Errorf("%+v, %v", left, err)
		}
	})
}

// A key that ends while its request waits for its turn neither makes nor revokes another key, nor ends a session.
func TestKeyEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		k := NewKeys(dbtest.Open(t, url))
		userID, ids := withKeys(t, k, time.Hour, 0)
		c := Caller{UserID: userID, KeyID: ids[0], Scope: All}
		session := signedIn(t, k, SessionDraft{UserID: userID, Method: ByMail})
		now := k.DB.Now()
		for _, wanted := range []struct {
			err error
			do  func() error
		}{
			{errBadKey, func() error { _, _, err := k.CreateOwn(t.Context(), c, OwnDraft{Scope: All}); return err }},
			{ErrChanged, func() error { return k.RevokeOwn(t.Context(), c, ids[1]) }},
			{ErrChanged, func() error { return k.EndSession(t.Context(), c, session.SessionID) }},
		} {
			var passed atomic.Int64
			k.DB.Now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
			done := make(chan error, 1)
			begin := sync.OnceFunc(func() { go func() { done <- wanted.do() }() })
			err := k.Change(t.Context(), func(context.Context, *db.Tx) error {
				begin()
				err := dbtest.AwaitWaiting(t.Context(), k.DB, 1, done)
				passed.Store(int64(time.Hour))
				return err
			})
			if failed := <-done; err != nil || !errors.Is(failed, wanted.err) {
				t.Errorf("%v, %v", err, failed)
			}
		}
	})
}

func TestTidy(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := NewKeys(d)
		_, kept := withKeys(t, keys, time.Hour, 2*time.Hour, 0)
		at := d.Now().Add(keepExpired + time.Hour + time.Minute)
		d.Now = func() time.Time { return at }
		check(t, keys.Tidy(t.Context()))
		left, err := keys.List(t.Context())
		if err != nil || len(left) != 2 || left[0].ID != kept[1] || left[1].ID != kept[2] {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}
