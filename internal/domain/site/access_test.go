package site

import (
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
)

// Each call refuses callers whose organization may not do it, whoever makes it: the API's routes are not the only ones.
func TestEachCallChecksAccess(t *testing.T) {
	each(t, func(r rig) {
		ctx, second := r.Context(), func(_ any, err error) error { return err }
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "x", "[]")
		r.place(r.caller, s, p)
		reads := map[string]func(c access.Caller) error{
			"get":            func(c access.Caller) error { return second(r.Get(ctx, c, s.ID)) },
			"find":           func(c access.Caller) error { return second(r.Find(ctx, c, Filter{}, page.First)) },
			"apps":           func(c access.Caller) error { return second(r.Apps(ctx, c, s.ID, page.First)) },
			"placements":     func(c access.Caller) error { return second(r.PlacementsOf(ctx, c, p.ID, page.First)) },
			"health":         func(c access.Caller) error { return second(r.Health(ctx, c, p.ID, 0, time.Time{})) },
			"health of site": func(c access.Caller) error { return second(r.HealthOfSite(ctx, c, s.ID, time.Time{}, page.First)) },
		}
		changes := map[string]func(c access.Caller) error{
			"create":  func(c access.Caller) error { return second(r.Create(ctx, c, Draft{Name: patch.Of("another")})) },
			"update":  func(c access.Caller) error { return second(r.Update(ctx, c, s.ID, Draft{Name: patch.Of("another")})) },
			"restore": func(c access.Caller) error { return second(r.Restore(ctx, c, s.ID, patch.Of(int64(1)))) },
			"place": func(c access.Caller) error {
				return second(r.Place(ctx, c, s.ID, PlacementDraft{AppID: patch.Of(p.ID)}))
			},
			"change":  func(c access.Caller) error { return second(r.Change(ctx, c, s.ID, p.ID, PlacementDraft{})) },
			"preview": func(c access.Caller) error { return second(r.Preview(ctx, c, s.ID, p.ID, PreviewDraft{})) },
			"remove":  func(c access.Caller) error { return r.Remove(ctx, c, s.ID, p.ID) },
			"delete":  func(c access.Caller) error { return r.Delete(ctx, c, s.ID) },
		}
		for _, of := range []struct {
			level access.AppAccess
			calls map[string]func(c access.Caller) error
		}{{access.NoApps, reads}, {access.ReadApps, changes}} {
			c := r.caller
			c.Organization.AppAccess = of.level
			for name, call := range of.calls {
				if got := blames(call(c)); got != "denied" {
					r.Errorf("%s: %s", name, got)
				}
			}
		}
	})
}
