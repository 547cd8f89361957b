package site

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A caller who loses their right after they were admitted, and before their turn, changes nothing.
func TestRightLostOnTheWay(t *testing.T) {
	each(t, func(r rig) {
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", ""), r.app(r.caller, "q", "")
		r.place(r.caller, s, p)
		ctx, url := r.Context(), patch.Of("https://shop.example/")
		r.suspend(r.caller, access.ReadApps)
		for name, do := range map[string]func() error{
			"create": func() error { _, err := r.Create(ctx, r.caller, Draft{Name: patch.Of("other")}); return err },
			"update": func() error { _, err := r.Update(ctx, r.caller, s.ID, Draft{Enabled: patch.Of(false)}); return err },
			"delete": func() error { return r.Delete(ctx, r.caller, s.ID) },
			"place": func() error {
				_, err := r.Place(ctx, r.caller, s.ID, PlacementDraft{AppID: patch.Of(q.ID)})
				return err
			},
			"change": func() error {
				_, err := r.Change(ctx, r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(false)})
				return err
			},
			"remove":  func() error { return r.Remove(ctx, r.caller, s.ID, p.ID) },
			"restore": func() error { _, err := r.Restore(ctx, r.caller, s.ID, patch.Of[int64](1)); return err },
			"preview": func() error { _, err := r.Preview(ctx, r.caller, s.ID, p.ID, PreviewDraft{URL: url}); return err },
		} {
			if err := do(); !errors.Is(err, access.ErrChanged) {
				r.Errorf("%s: %v", name, err)
			}
		}
		r.wants("afterwards", s, "p@1{}")
		if n, err := countSites(ctx, r.DB, r.caller.Organization.ID); n != 1 || err != nil {
			r.Errorf("%d sites, %v", n, err)
		}
	})
}

// The right is checked after the site was locked, since it may be lost while another transaction holds the lock.
func TestRightLostWhileWaiting(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		r.place(r.caller, s, p)
		changed := make(chan error, 1)
		change := sync.OnceFunc(func() {
			go func() {
				_, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(false)})
				changed <- err
			}()
		})
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := lockedSite(ctx, tx, r.caller.Organization.ID, s.ID); err != nil {
				return err
			}
			change()
			return db.Exec(ctx, tx, `DELETE FROM memberships WHERE user_id = $1`, r.caller.UserID)
		})
		if err != nil {
			r.Fatal(err)
		}
		if err := <-changed; !errors.Is(err, access.ErrChanged) {
			r.Error(err)
		}
		r.wants("afterwards", s, "p@1{}")
	})
}

// If a key ends while its request waits for the lock of its organization's sites, the request makes no site.
func TestKeyEndsWhileWaiting(t *testing.T) {
	each(t, func(r rig) {
		var passed atomic.Int64
		now := r.DB.Now()
		r.DB.Now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
		key, _, err := r.orgs.Keys.Create(r.Context(), access.Draft{UserID: r.caller.UserID, Scope: access.All, ExpiresIn: time.Hour})
		if err != nil {
			r.Fatal(err)
		}
		c := r.caller
		c.KeyID = key.ID
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			if _, err := r.Create(r.Context(), c, Draft{Name: patch.Of("shop")}); !errors.Is(err, access.ErrChanged) {
				return fmt.Errorf("made by a key that has ended: %w", err)
			}
			return nil
		})
		err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			db.Lock(tx, "sites of "+c.Organization.ID)
			_, err := countSites(ctx, tx, c.Organization.ID) // the lock is held when this returns
			start()
			passed.Store(int64(time.Hour))
			return err
		})
		if err != nil {
			r.Error(err)
		}
		end()
	})
}
