package site

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// The counts of a site that is being deleted are deleted too: storing them does not fail, and the counts of other sites
// are stored.
func TestCountedDuringADeletion(t *testing.T) {
	each(t, func(r rig) {
		gone, stays, p := r.site(r.caller, "gone"), r.site(r.caller, "stays"), r.app(r.caller, "app", "")
		for _, s := range []Site{gone, stays} {
			r.place(r.caller, s, p)
			r.beacon(s, "", `{"apps":[{"id":%d,"version":1,"state":"running","ms":5}],"errors":[{"id":%d,"version":1,"message":"x"}]}`, p.ID, p.ID)
		}
		start, end := dbtest.Meanwhile(r, r.DB, func() error { return r.Manifests.Counts.Flush(r.Context()) })
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := removeSite(ctx, tx, r.caller.Organization.ID, gone.ID); err != nil {
				return err
			}
			if _, err := db.One[int](ctx, tx, nil, `SELECT 1`); err != nil { // it is deleted when this returns
				return err
			}
			start()
			return nil
		})
		if err != nil {
			r.Error(err)
		}
		end()
		if rows := r.text(`SELECT COUNT(*) || ' ' || (SELECT COUNT(*) FROM site_errors) FROM site_counts`); rows != "1 1" {
			r.Errorf("%s rows", rows)
		}
	})
}

// If an app is placed during its upgrade, the placement gets the new version.
func TestPlacedDuringAnUpgrade(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			_, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID)})
			return err
		})
		r.plugins.Follow = func(ctx context.Context, tx *db.Tx, c access.Caller, id int64) error {
			start()
			return r.FollowApp(ctx, tx, c, id)
		}
		r.save(r.caller, p.ID, "two")
		end()
		r.wants("afterwards", s, "app@2{}")
	})
}

// suspendMeanwhile suspends an organization, and calls start once its sites have followed, before the suspension is
// committed.
func (r rig) suspendMeanwhile(c access.Caller, start func()) {
	r.Helper()
	r.orgs.Follow = func(ctx context.Context, tx *db.Tx, id string) error {
		err := r.FollowOrganization(ctx, tx, id)
		start()
		return err
	}
	r.suspend(c, access.NoApps)
}

// If another organization upgrades an app while a site's own organization is suspended, the app does not come back on
// the site.
func TestUpgradedDuringASuspension(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.other, "app", "")
		r.patch(r.other, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		r.place(r.caller, s, p)
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Field[int64]{Set: true, Null: true}})
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			edit := source.Edit{Field: "source", Name: "site.ts", Text: patch.Of("export const two = 2")}
			_, err := r.plugins.UpdateSource(r.Context(), r.other, p.ID, plugin.Draft{}, []source.Edit{edit})
			return err
		})
		r.suspendMeanwhile(r.caller, start)
		end()
		r.wants("afterwards", s, "")
	})
}

// An app that is shared while its organization is suspended does not run on another organization's site. Who waits to
// share it holds up nobody who waits for the app.
func TestSharedDuringASuspension(t *testing.T) {
	each(t, func(r rig) {
		s, p, q := r.site(r.caller, "shop"), r.app(r.other, "app", ""), r.app(r.other, "another", "")
		draft := plugin.Draft{
			Type: patch.Of("source"), Name: patch.Of("new"), IsGlobal: patch.Of(true),
			Source: []source.Edit{{Field: "source", Name: "site.ts", Text: patch.Of("export const one = 1")}},
		}
		for _, share := range []func() (plugin.Plugin, error){
			func() (plugin.Plugin, error) { return r.plugins.Create(r.Context(), r.other, draft) },
			func() (plugin.Plugin, error) {
				return r.plugins.Update(r.Context(), r.other, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
			},
			func() (plugin.Plugin, error) {
				edit := source.Edit{Field: "source", Name: "a.md", Text: patch.Of("a")}
				saved, err := r.plugins.UpdateSource(r.Context(), r.other, q.ID, plugin.Draft{IsGlobal: patch.Of(true)}, []source.Edit{edit})
				return saved.Plugin, err
			},
		} {
			start, end := dbtest.Meanwhile(r, r.DB, func() error {
				shared, err := share()
				if errors.Is(err, access.ErrChanged) { // it comes after the suspension
					return nil
				}
				if err != nil {
					return err
				}
				_, err = r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(shared.ID)})
				return err
			})
			r.orgs.Follow = func(ctx context.Context, tx *db.Tx, id string) error {
				err := r.FollowOrganization(ctx, tx, id)
				start()
				_, locked := plugin.LockRunnable(ctx, tx, p.ID)
				return errors.Join(err, locked)
			}
			r.suspend(r.other, access.NoApps)
			end()
			r.wants("afterwards", s, "")
			r.orgs.Follow = r.FollowOrganization
			r.suspend(r.other, access.RootApps)
		}
	})
}

// A shared app that is placed while its organization is suspended does not run either.
func TestPlacedDuringASuspension(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.other, "app", "")
		r.patch(r.other, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			_, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID)})
			return err
		})
		r.suspendMeanwhile(r.other, start)
		end()
		r.wants("afterwards", s, "")
	})
}

// A site that is added while its organization is suspended runs no app.
func TestAddedDuringASuspension(t *testing.T) {
	each(t, func(r rig) {
		p := r.app(r.other, "app", "")
		r.patch(r.other, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			s, err := r.Create(r.Context(), r.caller, Draft{Name: patch.Of("new")})
			if err == nil {
				_, err = r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID)})
			}
			if errors.Is(err, access.ErrChanged) {
				return nil
			}
			return cmp.Or(err, errors.New("the new site runs an app"))
		})
		r.suspendMeanwhile(r.caller, start)
		end()
	})
}

// A preview that is made while its site is deleted finds no site.
func TestPreviewDuringADeletion(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			_, err := r.Preview(r.Context(), r.caller, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://shop.example/")})
			if fault.Is(err, fault.NotFound) {
				return nil
			}
			return cmp.Or(err, errors.New("a preview of a site that is gone"))
		})
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := db.Changed(ctx, tx, `DELETE FROM sites WHERE id = $1`, s.ID) // it is deleted when this returns
			start()
			return err
		})
		if err != nil {
			r.Error(err)
		}
		end()
	})
}

var errNotAsRead = errors.New("it has changed")

// reading returns the context of a request with the precondition that the object is still as it was read.
func (r rig) reading(read any) context.Context {
	return precondition.With(r.Context(), func(object any) error {
		if !reflect.DeepEqual(object, read) {
			return errNotAsRead
		}
		return nil
	})
}

// A caller who places or previews an app changes nothing if the object has changed since they read it.
func TestIsAsItWasRead(t *testing.T) {
	each(t, func(r rig) {
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", ""), r.app(r.caller, "q", "")
		at := PreviewDraft{URL: patch.Of("https://shop.example/")}
		old := r.place(r.caller, s, p)
		now := r.change(r.caller, s, p, PlacementDraft{Position: patch.Of(int64(7))})
		for read, want := range map[*Placement]error{&old: errNotAsRead, &now: nil} {
			if _, err := r.Preview(r.reading(*read), r.caller, s.ID, p.ID, at); !errors.Is(err, want) {
				r.Errorf("a preview at %d: %v", read.Position, err)
			}
		}
		if _, err := r.Preview(r.reading(now), r.caller, s.ID, q.ID, at); !fault.Is(err, fault.NotFound) {
			r.Errorf("a preview of what is not placed: %v", err)
		}
		if _, err := r.Place(r.reading(s), r.caller, s.ID, PlacementDraft{AppID: patch.Of(q.ID)}); !errors.Is(err, errNotAsRead) {
			r.Errorf("placed on the site as it was: %v", err)
		}
		s, err := r.Get(r.Context(), r.caller, s.ID)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.Place(r.reading(s), r.caller, s.ID, PlacementDraft{AppID: patch.Of(q.ID)}); err != nil {
			r.Errorf("placed on the site as it is: %v", err)
		}
	})
}

// The same is true if they wait for another caller to place an app there, even if pages do not get that app.
func TestIsAsItWasReadAfterAWait(t *testing.T) {
	each(t, func(r rig) {
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", ""), r.app(r.caller, "q", "")
		s, err := r.Get(r.Context(), r.caller, s.ID)
		if err != nil {
			r.Fatal(err)
		}
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			_, err := r.Place(r.reading(s), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID)})
			if errors.Is(err, errNotAsRead) {
				return nil
			}
			return cmp.Or(err, errors.New("placed on the site as it no longer is"))
		})
		r.Shown = func([]byte, Site) []byte { // called while the site is locked
			start()
			return nil
		}
		if _, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(q.ID), Enabled: patch.Of(false)}); err != nil {
			r.Error(err)
		}
		end()
	})
}

// The changed app is on its owner's site, beside an app of the organization that is being erased, and on that
// organization's site. The change waits for the erasure. There is no deadlock.
func TestChangedDuringAnErasure(t *testing.T) {
	each(t, func(r rig) {
		theirs, own := r.site(r.other, "theirs"), r.site(r.caller, "own")
		p, q := r.app(r.other, "app", ""), r.app(r.caller, "erased", "")
		for c, app := range map[*access.Caller]plugin.Plugin{&r.other: p, &r.caller: q} {
			r.patch(*c, app.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		}
		r.place(r.other, theirs, p)
		r.place(r.other, theirs, q)
		r.place(r.caller, own, p)
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			_, err := r.plugins.Disable(r.Context(), r.other, p.ID, patch.Of("It is wrong."))
			return err
		})
		r.Shown = func([]byte, Site) []byte { // called while the site is locked
			start()
			return nil
		}
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return cmp.Or(r.EraseOrganization(ctx, tx, r.caller.Organization.ID), r.plugins.EraseOrganization(ctx, tx, r.caller.Organization.ID))
		})
		if err != nil {
			r.Error(err)
		}
		end()
		r.wants("afterwards", theirs, "")
	})
}
