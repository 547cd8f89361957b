package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

// withDefault returns a config_schema with one field, which pages get.
func withDefault(key string) patch.Field[string] {
	return patch.Of(fmt.Sprintf(`[{"key":%q,"site":true,"default":%[1]q}]`, key))
}

// If an app on a site is no longer shared, the site's organization sees neither its later changes nor its state from
// before it was shared. When it is shared again, a version that was never shared does not run there.
func TestNoLongerShared(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.other, "shop"), r.app(r.caller, "app", withDefault("ancient").Value)
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: withDefault("greeting"), IsGlobal: patch.Of(true)})
		follows := PlacementDraft{AppID: patch.Of(p.ID), Version: patch.Field[int64]{Set: true, Null: true}}
		if _, err := r.Place(r.Context(), r.other, s.ID, follows); err != nil {
			r.Fatal(err)
		}
		pinned := r.site(r.other, "pinned")
		r.place(r.other, pinned, p)
		r.wants("shared", s, `app@2{"greeting":"greeting"}`)
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(false)})
		r.patch(r.caller, p.ID, plugin.Draft{Name: patch.Of("secret"), ConfigSchema: withDefault("secret")})

		r.showsNothing("no longer shared", s)
		for number := range int64(5) {
			_, err := r.Change(dryrun.With(r.Context()), r.other, s.ID, p.ID, PlacementDraft{Version: patch.Of(number + 1)})
			if blames(err) != "version invalid" {
				r.Errorf("pinned to %d: %v", number+1, err)
			}
		}
		for _, key := range []string{"ancient", "greeting", "secret", "other"} {
			_, err := r.Change(r.Context(), r.other, s.ID, p.ID, PlacementDraft{Config: given(key, `"x"`)})
			if blames(err) != "config."+key+" invalid" || strings.Contains(err.Error(), "it has "+key) {
				r.Errorf("a value for %s: %v", key, err)
			}
		}
		for _, on := range []bool{false, true} {
			r.change(r.other, s, p, PlacementDraft{Enabled: patch.Of(on)})
			r.showsNothing("switched", s)
		}
		if err := r.Remove(r.Context(), r.other, s.ID, p.ID); err != nil {
			r.Error(err)
		}
		if _, err := r.Restore(r.Context(), r.other, s.ID, patch.Of[int64](2)); err != nil {
			r.Error(err)
		}
		r.showsNothing("restored", s)

		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		r.wants("shared again, follows", s, `secret@3{"secret":"secret"}`)
		r.wants("shared again, pinned as it was", pinned, `secret@2{"greeting":"greeting"}`)
	})
}

// Who places a shared app that has no version yet follows it: there is nothing to stay at.
func TestSharedWithoutVersion(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.other, "shop")
		p, err := r.plugins.Create(r.Context(), r.caller, plugin.Draft{Name: patch.Of("app"), IsGlobal: patch.Of(true)})
		if err != nil {
			r.Fatal(err)
		}
		d := PlacementDraft{AppID: patch.Of(p.ID)}
		if _, err := r.Place(r.Context(), r.other, s.ID, d); blames(err) != "app_id invalid" {
			r.Errorf("stays: %v", err)
		}
		d.Version = patch.Field[int64]{Set: true, Null: true}
		if _, err := r.Place(r.Context(), r.other, s.ID, d); err != nil {
			r.Errorf("follows: %v", err)
		}
	})
}

// A preview does not reveal versions from before an app was shared, nor why they were withdrawn: they seem not to
// exist.
func TestPreviewOfUnseenVersion(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.other, "shop"), r.app(r.caller, "app", "")
		r.save(r.caller, p.ID, "two")
		if _, err := r.plugins.Withdraw(r.Context(), r.caller, p.ID, plugin.Withdrawal{Number: 1, Reason: patch.Of("secret")}); err != nil {
			r.Fatal(err)
		}
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		for number, want := range map[int64]error{1: plugin.ErrNoVersion, 2: nil, 9: plugin.ErrNoVersion} {
			_, err := r.Preview(r.Context(), r.other, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://shop.example/"), Version: patch.Of(number)})
			if !errors.Is(err, want) {
				r.Errorf("of version %d: %v, want %v", number, err, want)
			}
		}
	})
}

// When an organization is erased, the defaults of its shared apps are removed from other organizations' sites, and
// their room is freed.
func TestSharedByErased(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.other, "shop"), r.app(r.caller, "app", takes(200))
		waits := r.app(r.other, "waits", "[]")
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		r.place(r.other, s, p)
		r.place(r.other, s, waits)
		r.patch(r.other, waits.ID, plugin.Draft{ConfigSchema: patch.Of(takes(120))})
		r.held("without room", s, waits, 1, "at most 262144 bytes")
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return cmp.Or(r.EraseOrganization(ctx, tx, r.caller.Organization.ID), r.plugins.EraseOrganization(ctx, tx, r.caller.Organization.ID))
		})
		if err != nil {
			r.Fatal(err)
		}
		r.held("with room", s, waits, 2, "")
		if unused, err := r.plugins.Unused(r.Context(), r.other, page.First); err != nil || unused.Count != 0 {
			r.Errorf("the other app is on a site, and unused: %+v, %v", unused, err)
		}
		if placed, err := r.App(r.Context(), r.other, s.ID, p.ID); err != nil || placed.Values != "{}" || placed.Held != "The app is gone." {
			r.Errorf("it shows %d bytes of values and is held since %q, %v", len(placed.Values), placed.Held, err)
		}
	})
}

// showsNothing looks for the name and values of an app in everything that shows a site's only placement.
func (r rig) showsNothing(what string, s Site) {
	r.Helper()
	all, err := r.Apps(r.Context(), r.other, s.ID, page.First)
	if err != nil || len(all.Items) != 1 {
		r.Fatalf("%s: %+v, %v", what, all, err)
	}
	if p := all.Items[0]; p.Name != "" || p.Values != "{}" || p.Running != 0 {
		r.Errorf("%s: %+v", what, p)
	}
	health, err := r.HealthOfSite(r.Context(), r.other, s.ID, time.Time{}, page.First)
	if err != nil || len(health.Items) != 1 || health.Items[0].Name != "" {
		r.Errorf("%s: %+v, %v", what, health, err)
	}
}
