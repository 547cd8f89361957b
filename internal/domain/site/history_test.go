package site

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

func TestHistory(t *testing.T) {
	each(t, func(r rig) {
		before, s, after := r.site(r.caller, "before"), r.site(r.caller, "shop"), r.site(r.caller, "zoo")
		p, q := r.app(r.caller, "p", `[{"key":"a","type":"string","site":true}]`), r.app(r.caller, "q", "")
		for _, other := range []Site{before, after} { // have revisions of the same numbers
			r.place(r.caller, other, q)
			r.change(r.caller, other, q, PlacementDraft{Enabled: patch.Of(false)})
		}
		placedAt := r.place(r.caller, s, p, "a", `"old"`).CreatedAt // 2
		r.place(r.caller, s, q)                                     // 3
		r.change(r.caller, s, q, PlacementDraft{Enabled: patch.Of(false)})
		r.change(r.caller, s, p, PlacementDraft{Config: given("a", `"new"`), Version: patch.Of(int64(1)), Paths: patch.Of([]string{"/a/**"})}) // 5
		r.save(r.caller, p.ID, "two")                                                                                                          // no new revision: pinned
		all := r.history(s)
		if len(all) != 5 || all[0].Number != 5 || !all[0].Until.IsZero() || !all[1].Until.Equal(all[0].From) || all[0].User.Email != "acme@foyer.example" || all[0].RequestID != "request" {
			r.Fatalf("%+v", all)
		}
		if last, err := r.History(r.Context(), r.caller, s.ID, page.Page{Limit: 1, Offset: 4}); err != nil || len(last.Items) != 1 || last.Items[0].Number != 1 || last.More {
			r.Errorf("the last page: %+v, %v", last, err)
		}
		if !strings.Contains(all[2].Apps, `"url":"https://foyer.example/apps/`) || strings.Count(all[2].Apps, `"id"`) != 2 {
			r.Error(all[2].Apps)
		}
		if err := r.plugins.Delete(r.Context(), r.caller, q.ID); err != nil { // the manifest did not have it
			r.Fatal(err)
		}
		got, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](3))
		if by := r.history(s)[0].User.Email; err != nil || got.Revision != 6 || got.AppsCount != 1 || by != "acme@foyer.example" {
			r.Fatalf("%+v by %s, %v", got, by, err)
		}
		r.wants("restored, and follows again", s, `p@2{"a":"old"}`)
		if placed, err := r.App(r.Context(), r.caller, s.ID, p.ID); err != nil || placed.Version != 0 || len(placed.Paths) != 0 || !placed.CreatedAt.Equal(placedAt) {
			r.Errorf("%+v, %v", placed, err)
		}
		if _, err := r.plugins.Disable(r.Context(), r.caller, p.ID, patch.Of("x")); err != nil { // 7
			r.Fatal(err)
		}
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](5)); err != nil {
			r.Fatal(err)
		}
		r.held("restored while disabled", s, p, 0, "disabled")
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](99)); blames(err) != "not found" {
			r.Errorf("not kept: %v", err)
		}
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Field[int64]{}); blames(err) != "revision required" {
			r.Errorf("none: %v", err)
		}
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Field[int64]{Set: true, Null: true}); blames(err) != "revision null" {
			r.Errorf("null: %v", err)
		}
	})
}

// An app that was off when a revision began is off again, and one that was held at an older version runs that one
// again.
func TestRestoreOffAndKept(t *testing.T) {
	each(t, func(r rig) {
		s, off, waits := r.site(r.caller, "shop"), r.app(r.caller, "off", withDefault("greeting").Value), r.app(r.caller, "waits", "")
		r.place(r.caller, s, off)   // 2
		r.place(r.caller, s, waits) // 3
		r.patch(r.caller, waits.ID, plugin.Draft{ConfigSchema: patch.Of(fmt.Sprintf(needs, "host"))})
		r.change(r.caller, s, off, PlacementDraft{Enabled: patch.Of(false), Position: patch.Of(int64(7)), Paths: patch.Of([]string{"/a/**"})}) // 4
		r.wants("before", s, "waits@1{}")
		apps := func() []Placement {
			found, err := r.Apps(r.Context(), r.caller, s.ID, page.First)
			if err != nil {
				r.Fatal(err)
			}
			for i := range found.Items {
				found.Items[i].UpdatedAt = time.Time{}
			}
			return found.Items
		}
		before := apps()
		r.change(r.caller, s, off, PlacementDraft{Enabled: patch.Of(true), Position: patch.Of(int64(1)), Paths: patch.Of([]string{})})
		if err := r.Remove(r.Context(), r.caller, s.ID, waits.ID); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](4)); err != nil {
			r.Fatal(err)
		}
		r.wants("restored", s, "waits@1{}")
		if after := apps(); !reflect.DeepEqual(before, after) {
			r.Errorf("%+v, want %+v", after, before)
		}
	})
}

// If a site is restored to a version that was withdrawn since, the placement is held.
func TestRestoreWithdrawn(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		r.place(r.caller, s, p)
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(1))}) // no new revision: it runs the same
		r.save(r.caller, p.ID, "two")
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(2))}) // 3
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(1))}) // 4
		if _, err := r.plugins.Withdraw(r.Context(), r.caller, p.ID, plugin.Withdrawal{Number: 2, Reason: patch.Of("bad"), GoTo: patch.Of(int64(1))}); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](3)); err != nil {
			r.Fatal(err)
		}
		r.held("restored", s, p, 0, "withdrawn: bad")
		if revision, _ := r.manifest(s); revision != 5 {
			r.Errorf("revision %d", revision)
		}
	})
}

// A restore leaves a placement that is as it was alone. If that holds for all of them, it is no change.
func TestRestoreUnchanged(t *testing.T) {
	each(t, func(r rig) {
		s, p, q := r.site(r.caller, "shop"), r.app(r.caller, "p", ""), r.app(r.caller, "q", "")
		first, second := r.place(r.caller, s, p), r.place(r.caller, s, q) // 3
		restored := func() []activity.Stored {
			if got, err := r.Restore(r.Context(), r.caller, s.ID, patch.Of[int64](3)); err != nil || !reflect.DeepEqual(got.UpdatedAt, s.UpdatedAt) {
				r.Fatalf("%+v, %v", got, err)
			}
			all, err := activity.List(r.Context(), r.DB, activity.Filter{OrganizationID: s.OrganizationID, Verb: activity.Restored}, page.First)
			if err != nil {
				r.Fatal(err)
			}
			return all.Items
		}
		updatedAt := func(appID int64) time.Time {
			placed, err := r.App(r.Context(), r.caller, s.ID, appID)
			if err != nil {
				r.Fatal(err)
			}
			return placed.UpdatedAt
		}
		if all := restored(); len(all) != 0 || !updatedAt(p.ID).Equal(first.UpdatedAt) || !updatedAt(q.ID).Equal(second.UpdatedAt) {
			r.Errorf("%+v, updated at %s and %s", all, updatedAt(p.ID), updatedAt(q.ID))
		}
		if off := r.change(r.caller, s, p, PlacementDraft{Enabled: patch.Of(false)}); off.UpdatedAt.Equal(first.UpdatedAt) {
			r.Errorf("switched off, it was updated at %s", off.UpdatedAt)
		}
		if all := restored(); len(all) != 1 || !strings.Contains(all[0].Changes, `"`+fieldOf(p.ID, "enabled")+`"`) || updatedAt(p.ID).Equal(first.UpdatedAt) || !updatedAt(q.ID).Equal(second.UpdatedAt) {
			r.Errorf("%+v, updated at %s and %s", all, updatedAt(p.ID), updatedAt(q.ID))
		}
	})
}

// The newest revisions are kept, and those of the last 90 days.
func TestTidyHistory(t *testing.T) {
	each(t, func(r rig) {
		r.site(r.caller, "elsewhere") // its revision does not count
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "p", "")
		r.place(r.caller, s, p)
		for i := range 208 {
			r.change(r.caller, s, p, PlacementDraft{Enabled: patch.Of(i%2 == 1)})
		}
		count := func() int {
			found, err := r.History(r.Context(), r.caller, s.ID, page.Page{Limit: 1})
			if err != nil {
				r.Fatal(err)
			}
			return found.Count
		}
		for _, c := range []struct{ days, upTo, want int }{{0, 210, 210}, {89, 210, 210}, {91, 4, 206}, {91, 210, 200}} {
			err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE site_revisions SET created_at = $1 WHERE revision <= $2`, r.DB.Now().Add(-time.Duration(c.days)*24*time.Hour), c.upTo)
			})
			if err != nil {
				r.Fatal(err)
			}
			if err := r.Tidy(r.Context()); err != nil || count() != c.want {
				r.Errorf("%d revisions after %d days of the first %d, want %d, %v", count(), c.days, c.upTo, c.want, err)
			}
		}
	})
}

// What a site has run lately is found among the revisions since then, not among all.
func TestLatelyReadsFewRevisions(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+t.TempDir()+"/foyer.db")
	steps := dbtest.Explain(t, d, selectLately, int64(1), d.Now())
	if !strings.Contains(steps[0], "(site_id=? AND revision>?)") {
		t.Errorf("all revisions are read: %q", steps)
	}
}
