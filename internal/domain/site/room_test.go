package site

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
)

// takes returns a config_schema with a default that takes so many KiB of a site's room.
func takes(kib int) string {
	return `[{"key": "text", "site": true, "default": "` + strings.Repeat("x", kib<<10) + `"}]`
}

// Placements that wait for room resume in the transaction that frees it, in their order, and only once.
func TestRoomComes(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		big, first, second, third := r.app(r.caller, "big", takes(150)), r.app(r.caller, "first", "[]"), r.app(r.caller, "second", "[]"), r.app(r.caller, "third", "[]")
		for _, p := range []plugin.Plugin{big, third, second, first} {
			r.place(r.caller, s, p)
		}
		for i, p := range []plugin.Plugin{first, second, third} {
			r.change(r.caller, s, p, PlacementDraft{Position: patch.Of(int64(i + 10))})
			r.patch(r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(takes(120))})
		}
		wait := func(what string, running ...int64) {
			r.Helper()
			for i, p := range []plugin.Plugin{first, second, third} {
				part := "at most 262144 bytes"
				if running[i] > 1 {
					part = ""
				}
				r.held(what, s, p, running[i], part)
			}
		}
		wait("beside a big one", 1, 1, 1)
		before := r.history(s)
		r.patch(r.caller, big.ID, plugin.Draft{ConfigSchema: patch.Of(takes(10))})
		wait("the big one is smaller", 2, 2, 1)
		after := r.history(s)
		if after[0].Number != before[0].Number+1 || after[0].User.ID != r.caller.UserID || after[0].RequestID != "request" {
			r.Errorf("revision %+v after %d", after[0], before[0].Number)
		}
		r.change(r.caller, s, first, PlacementDraft{Version: patch.Of(int64(1))})
		r.held("the first is pinned to a small version", s, first, 1, "")
		r.held("the last goes on", s, third, 2, "")
	})
}

// Room is freed when an app is removed, switched off or deleted, or gets smaller values.
func TestWaysToMakeRoom(t *testing.T) {
	each(t, func(r rig) {
		for name, free := range map[string]func(s Site, p plugin.Plugin) error{
			"removed": func(s Site, p plugin.Plugin) error { return r.Remove(r.Context(), r.caller, s.ID, p.ID) },
			"disabled": func(s Site, p plugin.Plugin) error {
				_, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(false)})
				if _, again := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(true)}); blames(again) != "config long" {
					r.Errorf("enabled without room: %v", again)
				}
				return err
			},
			"deleted": func(_ Site, p plugin.Plugin) error { return r.plugins.Delete(r.Context(), r.caller, p.ID) },
			"smaller values": func(s Site, p plugin.Plugin) error {
				_, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Config: given("text", `"short"`)})
				return err
			},
		} {
			s, p, q := r.site(r.caller, name), r.app(r.caller, "p", takes(200)), r.app(r.caller, "q", "[]")
			r.place(r.caller, s, p)
			r.place(r.caller, s, q)
			r.patch(r.caller, q.ID, plugin.Draft{ConfigSchema: patch.Of(takes(100))})
			r.held(name+": no room", s, q, 1, "at most 262144 bytes")
			revision, _ := r.manifest(s)
			if err := free(s, p); err != nil {
				r.Fatal(err)
			}
			r.held(name+": room", s, q, 2, "")
			if now, _ := r.manifest(s); now != revision+1 {
				r.Errorf("%s: revision %d after %d", name, now, revision)
			}
		}
	})
}

// The values of a placement that does not run are shown only if there is room for them: beside the others or, if it is
// off, 1 KiB. They take none from a placement that waits.
func TestRoomForWhatDoesNotRun(t *testing.T) {
	each(t, func(r rig) {
		s, big, waits, small := r.site(r.caller, "shop"), r.app(r.caller, "big", takes(150)), r.app(r.caller, "waits", "[]"), r.app(r.caller, "small", takes(0))
		note := source.Edit{Field: "source", Name: "a.md", Text: patch.Of("a")}
		idle, err := r.plugins.Create(r.Context(), r.caller, plugin.Draft{Name: patch.Of("idle"), ConfigSchema: patch.Of(takes(0)), Source: []source.Edit{note}})
		if err != nil {
			r.Fatal(err)
		}
		for _, p := range []plugin.Plugin{idle, big, waits, small} {
			r.place(r.caller, s, p)
		}
		shown := func(what string, p plugin.Plugin, want bool) {
			r.Helper()
			if placed, err := r.App(r.Context(), r.caller, s.ID, p.ID); err != nil || (placed.Values != "{}") != want {
				r.Errorf("%s: %d bytes of values, %v", what, len(placed.Values), err)
			}
		}
		r.held("idle", s, idle, 0, "Version 1 has no bundle.")
		shown("a small value of an app without a bundle", idle, true)
		r.patch(r.caller, idle.ID, plugin.Draft{ConfigSchema: patch.Of(takes(150))})
		shown("a large one beside another", idle, false)
		r.patch(r.caller, waits.ID, plugin.Draft{ConfigSchema: patch.Of(takes(120))})
		r.held("beside the big one", s, waits, 1, "at most 262144 bytes")
		r.patch(r.caller, big.ID, plugin.Draft{ConfigSchema: patch.Of(takes(10))})
		r.held("the big one is smaller", s, waits, 2, "")
		for _, p := range []plugin.Plugin{big, small} {
			r.change(r.caller, s, p, PlacementDraft{Enabled: patch.Of(false)})
		}
		shown("a small value of what is off", small, true)
		shown("a large one", big, false)
		r.change(r.caller, s, big, PlacementDraft{Config: given("text", `"`+strings.Repeat("y", 2<<10)+`"`)})
		shown("a large one that was given", big, true)
	})
}

// After any change, the values fit, and no placement waits that could run.
func TestNobodyStarves(t *testing.T) {
	each(t, func(r rig) {
		random := rand.New(rand.NewPCG(7, 7))
		s := r.site(r.caller, "shop")
		var apps []plugin.Plugin
		for i := range 8 {
			apps = append(apps, r.app(r.caller, fmt.Sprint("app ", i), takes(random.IntN(30))))
			r.place(r.caller, s, apps[i])
		}
		resumed, waited := 0, 0
		revision, _ := r.manifest(s)
		for step := range 100 {
			p := apps[random.IntN(len(apps))]
			what, err := r.anything(random, s, p)
			if _, refused := errors.AsType[fault.List](err); err != nil && !refused && fault.IsOurs(err) {
				r.Fatalf("%d: %s: %v", step, what, err)
			}
			now, _ := r.manifest(s)
			if now > revision+1 {
				r.Errorf("%d: %s: %d revisions", step, what, now-revision)
			}
			wait := r.checkRoom(s, fmt.Sprint(step, ": ", what))
			if wait < waited {
				resumed++
			}
			revision, waited = now, wait
		}
		if resumed < 3 {
			r.Errorf("only %d changes let something go on", resumed)
		}
	})
}

// anything makes a random change to an app or its placement.
func (r rig) anything(random *rand.Rand, s Site, p plugin.Plugin) (what string, err error) {
	switch random.IntN(20) {
	case 0:
		if err = r.Remove(r.Context(), r.caller, s.ID, p.ID); fault.Is(err, fault.NotFound) {
			_, err = r.Place(r.Context(), r.caller, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Position: patch.Of(random.Int64N(9))})
		}
		return "on or off the site", err
	case 1, 2:
		_, err = r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Enabled: patch.Of(random.IntN(9) > 0)})
		return "switched", err
	case 3, 4, 5:
		_, err = r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Config: given("text", `"`+strings.Repeat("y", random.IntN(20_000))+`"`)})
		return "a value", err
	case 6, 7, 8, 9:
		_, err = r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Config: given("text", "null")})
		return "no value", err
	default:
		_, err = r.plugins.Update(r.Context(), r.caller, p.ID, plugin.Draft{ConfigSchema: patch.Of(takes(random.IntN(80)))})
		return "a version", err
	}
}

// checkRoom checks the placements of a site, and returns how many are held.
func (r rig) checkRoom(s Site, what string) (held int) {
	r.Helper()
	all, err := r.Apps(r.Context(), r.caller, s.ID, page.First)
	if err != nil {
		r.Fatal(err)
	}
	taken := 0
	for _, p := range all.Items {
		taken += p.bytes()
	}
	if taken > maxConfigBytes {
		r.Errorf("%s: the values take %d bytes", what, taken)
	}
	site, err := r.Get(r.Context(), r.caller, s.ID)
	if err != nil {
		r.Fatal(err)
	}
	deps := newDependencies(r.DB)
	for _, p := range all.Items {
		before := p
		if err := deps.resolve(r.Context(), site, &p, taken-p.bytes()); err != nil {
			r.Fatal(err)
		}
		if p.Running != before.Running || p.Held != before.Held {
			r.Errorf("%s: app %d runs %d, held %q; it could run %d, %q", what, p.AppID, before.Running, before.Held, p.Running, p.Held)
		}
		if p.Held != "" {
			held++
		}
	}
	return held
}

// An app may have more values on its sites than a server can hold. A page of them ends early, and a change of the app
// releases the memory of each batch of sites, so that there is room for other requests.
func TestManyLargePlacements(t *testing.T) {
	each(t, func(r rig) {
		p := r.app(r.caller, "large", "[]")
		const sites, size = batch + 5, 500 << 10
		for i := range sites {
			r.place(r.caller, r.site(r.caller, fmt.Sprint("shop ", i)), p)
		}
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(ctx, tx, `UPDATE placements SET site_values = $1`, `{"text":"`+strings.Repeat("x", size)+`"}`)
		})
		if err != nil {
			r.Fatal(err)
		}
		found, err := r.PlacementsOf(r.Context(), r.caller, p.ID, page.Page{Limit: sites})
		if n := len(found.Items); err != nil || found.Count != sites || n == 0 || n*size > page.MaxBytes+size {
			r.Errorf("a page of %d of %d, %v", n, found.Count, err)
		}
		limit := inflight.New(24 << 20) // all together take 17 MB
		of := limit.Begin(nil)
		of.Of(r.caller.UserID)
		others := limit.Begin(nil)
		if err := others.Take(8 << 20); err != nil {
			r.Fatal(err)
		}
		if _, err := r.plugins.Update(inflight.With(r.Context(), of), r.caller, p.ID, plugin.Draft{Name: patch.Of("renamed")}); err != nil {
			r.Error(err)
		}
		if held := limit.Held(); held > 9<<20 {
			r.Errorf("%d bytes are held", held)
		}
	})
}

// The versions that a site has run are known without its manifests: a page's report holds no memory for them.
func TestReportsOfALargeSite(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", takes(240))
		r.place(r.caller, s, p)
		for i := range 20 {
			r.change(r.caller, s, p, PlacementDraft{Paths: patch.Of([]string{fmt.Sprint("/", i)})})
		}
		r.save(r.caller, p.ID, "two")
		limit := inflight.New(8 << 20)
		ctx := inflight.With(r.Context(), limit.Begin(nil))
		report := fmt.Appendf(nil, `{"apps":[{"id":%d,"version":1,"state":"running","ms":5}]}`, p.ID)
		r.Beacon(ctx, s.Token, "", report)
		if held := limit.Held(); held > 1<<20 {
			r.Errorf("%d bytes are held", held)
		}
		if h := r.health(s, p); len(h.Versions) != 1 || h.Versions[0].Loads != 1 {
			r.Errorf("%+v", h)
		}
	})
}

// A site can be switched off however large its apps' schemas are, because none is read. When it is switched on, they
// are read one at a time.
func TestSwitchLargeSchemas(t *testing.T) {
	each(t, func(r rig) {
		s := r.site(r.caller, "shop")
		const apps, size = 5, 900 << 10
		for i := range apps {
			p := r.app(r.caller, fmt.Sprint("app ", i), `[{"key": "k", "site": true, "default": 1, "hint": "`+strings.Repeat("x", size)+`"}]`)
			r.place(r.caller, s, p)
		}
		_, before := r.manifest(s)
		others := inflight.New(8 << 20)
		if err := others.Begin(nil).Take(5 << 20); err != nil {
			r.Fatal(err)
		}
		set := func(limit *inflight.Limit, on bool) error {
			of := limit.Begin(nil)
			defer of.End()
			of.Of(r.caller.UserID)
			_, err := r.Update(inflight.With(r.Context(), of), r.caller, s.ID, Draft{Enabled: patch.Of(on)})
			return err
		}
		for _, on := range []bool{false, true} {
			if err := set(others, on); err != nil {
				r.Errorf("%t: %v", on, err)
			}
		}
		r.wants("on again", s, before)
		more := others.Begin(nil)
		more.Of(r.other.UserID)
		if err := more.Take(5 << 19); err != nil { // no room for any schema
			r.Fatal(err)
		}
		if err := set(others, false); err != nil {
			r.Errorf("off: %v", err)
		}
		if err := set(others, true); !fault.Is(err, fault.Busy) {
			r.Errorf("on without room: %v", err)
		}
	})
}
