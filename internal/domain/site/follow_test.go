package site

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
)

const needs = `[{"key": "%s", "type": "string", "site": true, "required": true}]`

// A site follows its app or is pinned, and never runs a version that its values do not satisfy.
func TestFollowApp(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "[]")
		untouched := r.site(r.caller, "other")
		r.place(r.caller, untouched, r.app(r.caller, "another", "[]"))
		r.place(r.caller, s, p)
		r.wants("placed", s, "app@1{}")
		r.save(r.caller, p.ID, "two")
		r.wants("saved", s, "app@2{}")
		r.patch(r.caller, p.ID, plugin.Draft{Name: patch.Of("App")})
		r.wants("renamed", s, "App@2{}")
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(1))})
		r.wants("pinned", s, "App@1{}")
		r.save(r.caller, p.ID, "three")
		r.wants("pinned still", s, "App@1{}")
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Field[int64]{Set: true, Null: true}})
		r.wants("follows again", s, "App@3{}")
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(fmt.Sprintf(needs, "host"))})
		r.wants("version 4 lacks a value", s, "App@3{}")
		r.held("version 4 lacks a value", s, p, 3, "config.host")
		r.change(r.caller, s, p, PlacementDraft{Position: patch.Of(int64(9))})
		r.held("moved", s, p, 3, "config.host")
		r.change(r.caller, s, p, PlacementDraft{Config: given("host", `"h"`)})
		r.wants("the value is given", s, `App@4{"host":"h"}`)
		r.held("the value is given", s, p, 4, "")
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(fmt.Sprintf(needs, "other"))})
		r.held("version 5 lacks another", s, p, 4, "config.other")
		if _, err := r.plugins.Upgrade(r.Context(), r.caller, p.ID, plugin.Move{Version: patch.Of("2")}); err != nil {
			r.Fatal(err)
		}
		r.wants("rolled back", s, "App@2{}")
		if err := r.plugins.Delete(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		r.wants("deleted", s, "")
		if found, err := r.Apps(r.Context(), r.caller, s.ID, page.First); err != nil || found.Count != 0 {
			r.Errorf("%+v, %v", found, err)
		}
		if revision, _ := r.manifest(untouched); revision != 2 {
			r.Errorf("the other site is at revision %d", revision)
		}
	})
}

// A site does not follow an app of another organization unless asked to, and does not run it when it is no longer
// shared.
func TestGlobalApp(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.other, "shop"), r.app(r.caller, "app", "")
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		if placed := r.place(r.other, s, p); placed.Version != 1 {
			r.Errorf("%+v", placed)
		}
		r.save(r.caller, p.ID, "two")
		r.wants("pinned", s, "app@1{}")
		r.change(r.other, s, p, PlacementDraft{Version: patch.Field[int64]{Set: true, Null: true}})
		r.save(r.caller, p.ID, "three")
		r.wants("follows, being asked to", s, "app@3{}")
		if last := r.history(s)[0]; last.User.ID != 0 || last.RequestID != "" {
			r.Errorf("it is told who of another organization made version 3: %+v", last)
		}
		r.suspend(r.caller, access.NoApps)
		r.held("its organization is suspended", s, p, 0, "may not use apps")
		r.wants("its organization is suspended", s, "")
		r.suspend(r.caller, access.RootApps)
		r.wants("it is not any more", s, "app@3{}")
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(false)})
		r.held("not shared any more", s, p, 0, "no longer shared")
		r.wants("not shared any more", s, "")
	})
}

// Other organizations can neither pin nor preview versions from before an app was shared, but a site keeps the version
// that it has.
func TestVersionsBeforeSharing(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.other, "shop"), r.app(r.caller, "app", `[{"key":"text","site":true}]`)
		r.save(r.caller, p.ID, "two")
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		r.place(r.other, s, p)
		own := r.site(r.caller, "own")
		r.place(r.caller, own, p)
		r.change(r.caller, own, p, PlacementDraft{Version: patch.Of(int64(1))}) // shows it to nobody else
		r.save(r.caller, p.ID, "three")
		pin := func(number int64) error {
			_, err := r.Change(r.Context(), r.other, s.ID, p.ID, PlacementDraft{Version: patch.Of(number), Config: given("text", `"x"`)})
			return err
		}
		preview := func(number int64) error {
			_, err := r.Preview(r.Context(), r.other, s.ID, p.ID, PreviewDraft{URL: patch.Of("https://shop.example.com/"), Version: patch.Of(number)})
			return err
		}
		read := func(number int64) error {
			v, err := r.plugins.Version(r.Context(), r.other, p.ID, number)
			if err == nil && (v.Number != number || v.CreatedBy.ID != 0 || v.Schema == "") {
				r.Errorf("%+v", v)
			}
			return err
		}
		for number, want := range map[int64][]string{1: {"version invalid", "version invalid", " not found"}, 2: {"", "", ""}} {
			for i, err := range []error{pin(number), preview(number), read(number)} {
				if blames(err) != strings.TrimSpace(want[i]) {
					r.Errorf("version %d: %v, want %s", number, err, want[i])
				}
			}
		}
		r.wants("pinned as it was", s, `app@2{"text":"x"}`)
		if err := pin(3); err != nil {
			r.Error(err)
		}
		if _, err := r.Place(r.Context(), r.other, r.site(r.other, "two").ID, PlacementDraft{AppID: patch.Of(p.ID), Version: patch.Of(int64(1))}); blames(err) != "version invalid" {
			r.Errorf("placed: %v", err)
		}
	})
}

// If the version of a placement is withdrawn, the other fields can still be changed.
func TestChangeWithdrawn(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.save(r.caller, p.ID, "two")
		r.place(r.caller, s, p)
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(1))})
		if _, err := r.plugins.Withdraw(r.Context(), r.caller, p.ID, plugin.Withdrawal{Number: 1, Reason: patch.Of("leaks")}); err != nil {
			r.Fatal(err)
		}
		r.change(r.caller, s, p, PlacementDraft{Version: patch.Of(int64(1)), Enabled: patch.Of(false), Paths: patch.Of([]string{"/a"})})
		if _, err := r.Change(r.Context(), r.caller, r.site(r.caller, "two").ID, p.ID, PlacementDraft{Version: patch.Of(int64(1))}); blames(err) != "not found" {
			r.Error(err)
		}
	})
}

// If another organization changes what a site runs, the activity of the site's organization says what and why, but not
// who. It does not record other changes of that organization. Changes by the site's own organization are not recorded
// again.
func TestFollowedIsRecorded(t *testing.T) {
	each(t, func(r rig) {
		p := r.app(r.caller, "app", "")
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		own, s := r.site(r.caller, "own"), r.site(r.other, "shop")
		r.place(r.caller, own, p)
		r.place(r.other, s, p)
		told := 0
		wants := func(what, changes string) {
			r.Helper()
			entries := func(c access.Caller) []activity.Stored {
				all, err := activity.List(r.Context(), r.DB, activity.Filter{OrganizationID: c.Organization.ID, Verb: activity.Followed}, page.First)
				if err != nil {
					r.Fatal(err)
				}
				return all.Items
			}
			if got := entries(r.caller); len(got) > 0 {
				r.Errorf("%s: its own organization is told %+v", what, got)
			}
			got := entries(r.other)
			if changes == "" && len(got) == told {
				return
			}
			told++
			if len(got) != told || got[0].Scope != activity.Site || got[0].ItemID != strconv.FormatInt(s.ID, 10) || got[0].Name != "shop" || got[0].User.ID != 0 ||
				got[0].RequestID != "" || got[0].KeyID != 0 || got[0].Changes != fmt.Sprintf(changes, p.ID) {
				r.Errorf("%s: told %+v, want %s", what, got, changes)
			}
		}
		const begins = `[{"action":"changed","field":"apps.%[1]d.running","before":null,"after":1}]`
		ends := func(why string) string {
			held := `,{"action":"changed","field":"apps.%[1]d.held","before":null,"after":"` + why + `"}`
			if why == "" {
				held = ""
			}
			return `[{"action":"changed","field":"apps.%[1]d.running","before":1,"after":null}` + held + `]`
		}
		wants("placed", "")
		r.patch(r.caller, p.ID, plugin.Draft{Name: patch.Of("App")})
		wants("renamed", "")
		r.save(r.caller, p.ID, "two")
		wants("another version, which is not followed", "")
		if _, err := r.plugins.Disable(r.Context(), r.caller, p.ID, patch.Of("it leaks")); err != nil {
			r.Fatal(err)
		}
		wants("disabled", ends("The app is disabled: it leaks"))
		if _, err := r.plugins.Enable(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		wants("enabled", begins)
		r.suspend(r.caller, access.NoApps)
		wants("its organization is suspended", ends("The organization of the app may not use apps."))
		r.suspend(r.caller, access.RootApps)
		wants("it is not any more", begins)
		r.suspend(r.other, access.NoApps)
		r.suspend(r.other, access.RootApps)
		wants("the organization of the site was suspended", "")
		if err := r.plugins.Delete(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		wants("deleted", ends(""))
	})
}

// Each switch turns an app off in the manifest, with a new revision, and its opposite turns it on again.
func TestOffSwitches(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.save(r.caller, p.ID, "two")
		r.place(r.caller, s, p)
		pinned := r.site(r.caller, "pinned")
		r.place(r.caller, pinned, p)
		r.change(r.caller, pinned, p, PlacementDraft{Version: patch.Of(int64(2))})
		enable := func(on bool) func() error {
			return func() error {
				_, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(on)})
				return err
			}
		}
		site := func(on bool) func() error {
			return func() error {
				_, err := r.Update(r.Context(), r.caller, s.ID, Draft{Enabled: patch.Of(on)})
				return err
			}
		}
		access := func(to access.AppAccess) func() error {
			return func() error { r.suspend(r.caller, to); return nil }
		}
		for _, c := range []struct {
			name    string
			off, on func() error
			held    string
		}{
			{"placement", enable(false), enable(true), ""},
			{"site", site(false), site(true), ""},
			{"organization", access(0), access(6), ""},
			{
				"app", func() error {
					_, err := r.plugins.Disable(r.Context(), r.caller, p.ID, patch.Of("it leaks"))
					return err
				}, func() error { _, err := r.plugins.Enable(r.Context(), r.caller, p.ID); return err }, "it leaks",
			},
		} {
			before, _ := r.manifest(s)
			if err := c.off(); err != nil {
				r.Fatal(err)
			}
			r.wants(c.name+" off", s, "")
			r.held(c.name+" off", s, p, 0, c.held)
			if err := c.on(); err != nil {
				r.Fatal(err)
			}
			r.wants(c.name+" on", s, "app@2{}")
			if after, _ := r.manifest(s); after != before+2 {
				r.Errorf("%s: revision %d, then %d", c.name, before, after)
			}
		}
		withdrawal := plugin.Withdrawal{Number: 2, Reason: patch.Of("it breaks"), GoTo: patch.Of(int64(1))}
		if _, err := r.plugins.Withdraw(r.Context(), r.caller, p.ID, withdrawal); err != nil {
			r.Fatal(err)
		}
		r.wants("withdrawn, following", s, "app@1{}")
		r.wants("withdrawn, pinned", pinned, "")
		r.held("withdrawn, pinned", pinned, p, 0, "it breaks")
		if _, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Version: patch.Of(int64(2))}); blames(err) != "version invalid" {
			r.Errorf("pinned to what is withdrawn: %v", err)
		}
		if _, err := r.plugins.Restore(r.Context(), r.caller, p.ID, 2); err != nil {
			r.Fatal(err)
		}
		r.wants("restored, pinned", pinned, "app@2{}")
	})
}

// A held placement does not run a withdrawn version.
func TestHeldWithoutKept(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		text := "two"
		edits := []source.Edit{{Field: "source", Name: "site.ts", Text: patch.Of(text + "()")}}
		if _, err := r.plugins.UpdateSource(r.Context(), r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(fmt.Sprintf(needs, "host"))}, edits); err != nil {
			r.Fatal(err)
		}
		r.held("version 2 lacks a value", s, p, 1, "config.host")
		if _, err := r.plugins.Withdraw(r.Context(), r.caller, p.ID, plugin.Withdrawal{Number: 1, Reason: patch.Of("x")}); err != nil {
			r.Fatal(err)
		}
		r.held("version 1 is withdrawn", s, p, 0, "config.host")
		r.wants("version 1 is withdrawn", s, "")
	})
}

// A held placement does not run a version from before the app was shared with the organization.
func TestHeldWithoutShown(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.other, "shop"), r.app(r.caller, "app", "")
		share := func(on bool) { r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(on)}) }
		share(true)
		r.place(r.other, s, p)
		r.change(r.other, s, p, PlacementDraft{Version: patch.Field[int64]{Set: true, Null: true}})
		share(false)
		r.save(r.caller, p.ID, "two")
		r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(fmt.Sprintf(needs, "host"))})
		share(true)
		r.held("version 3 lacks a value, version 1 is not seen", s, p, 0, "config.host")
		r.wants("version 1 is not seen", s, "")
	})
}

// An app without a bundle can be placed; it runs when it has one. The schemas and versions of other apps do not matter.
func TestNoBundle(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		other := func() {
			q := r.app(r.caller, "other", fmt.Sprintf(needs, "host"))
			r.save(r.caller, q.ID, "two")
			if _, err := r.plugins.Withdraw(r.Context(), r.caller, q.ID, plugin.Withdrawal{Number: 1, Reason: patch.Of("bad")}); err != nil {
				r.Fatal(err)
			}
		}
		other()
		p, err := r.plugins.Create(r.Context(), r.caller, plugin.Draft{Name: patch.Of("app")})
		if err != nil {
			r.Fatal(err)
		}
		other()
		r.place(r.caller, s, p)
		r.held("none", s, p, 0, "has no bundle")
		r.save(r.caller, p.ID, "one")
		r.wants("one", s, "app@1{}")
	})
}

// An app is unused if it has no enabled placement in any organization and nobody has requested its bundle in 30 days.
func TestUnused(t *testing.T) {
	each(t, func(r rig) {
		own, others := r.site(r.caller, "shop"), r.site(r.other, "shop")
		p, idle := r.app(r.caller, "app", ""), r.app(r.caller, "idle", "")
		r.app(r.other, "not ours", "")
		wants := func(what string, ids ...int64) {
			r.Helper()
			found, err := r.plugins.Unused(r.Context(), r.caller, page.First)
			if err != nil || found.Count != len(ids) || !slices.EqualFunc(found.Items, ids, func(p plugin.Plugin, id int64) bool { return p.ID == id }) {
				r.Errorf("%s: %+v, %v", what, found, err)
			}
		}
		wants("on no site", p.ID, idle.ID)
		r.place(r.caller, own, p)
		wants("placed", idle.ID)
		r.change(r.caller, own, p, PlacementDraft{Enabled: patch.Of(false)})
		wants("switched off", p.ID, idle.ID)
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(true)})
		r.place(r.other, others, p)
		wants("placed by another organization", idle.ID)
		r.change(r.caller, own, p, PlacementDraft{Enabled: patch.Of(true)})
		wants("placed by both", idle.ID)
		r.change(r.caller, own, p, PlacementDraft{Enabled: patch.Of(false)})
		r.patch(r.caller, p.ID, plugin.Draft{IsGlobal: patch.Of(false)})
		wants("still placed where it is no longer shared", idle.ID)
		source, err := r.plugins.Source(r.Context(), r.caller, idle.ID)
		if err != nil {
			r.Fatal(err)
		}
		used := r.DB.Now()
		if _, err := r.plugins.Bundles.Serve(r.Context(), source.PublicToken, ""); err != nil {
			r.Fatal(err)
		}
		if err := r.plugins.Bundles.FlushUse(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.DB.Now = func() time.Time { return used.Add(30*24*time.Hour - time.Minute) }
		wants("its bundle was asked for")
		r.DB.Now = func() time.Time { return used.Add(30*24*time.Hour + time.Minute) }
		wants("long ago", idle.ID)
	})
}

// While an app is saved many times, others place it, change its placements and remove it. In the end each site runs the
// newest version, and revisions have only grown.
func TestFollowWhileSitesChange(t *testing.T) {
	each(t, func(r rig) {
		p := r.app(r.caller, "app", "")
		var sites []Site
		for i := range 4 {
			sites = append(sites, r.site(r.caller, fmt.Sprint("site ", i)))
		}
		var all sync.WaitGroup
		all.Go(func() {
			for i := range 8 {
				r.save(r.caller, p.ID, fmt.Sprint("version ", i))
			}
		})
		for _, s := range sites {
			all.Go(func() {
				last := int64(0)
				for i := range 8 {
					_, err := r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID)})
					if err == nil && i%2 == 0 {
						_, err = r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Position: patch.Of(int64(i + 5))})
					}
					if err == nil && i < 7 {
						err = r.Remove(r.Context(), r.caller, s.ID, p.ID)
					}
					site, getErr := r.Get(r.Context(), r.caller, s.ID)
					if err := errors.Join(err, getErr); err != nil || site.Revision < last {
						r.Errorf("revision %d after %d, %v", site.Revision, last, err)
						return
					}
					last = site.Revision
				}
			})
		}
		all.Wait()
		for _, s := range sites {
			r.wants(s.Name, s, "app@9{}")
			for i, h := range r.history(s) {
				if i > 0 && h.Until.IsZero() {
					r.Errorf("a gap after revision %d", h.Number)
				}
			}
		}
	})
}
