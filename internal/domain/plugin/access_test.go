package plugin

import (
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/upstream/upstreamtest"
)

// Each call refuses callers whose organization may not do it, whoever makes it: the API's routes are not the only ones.
func TestEachCallChecksAccess(t *testing.T) {
	each(t, func(r rig) {
		ctx, second := r.Context(), func(_ any, err error) error { return err }
		repo := r.publish(upstreamtest.NewHost(r))
		id := r.install(repo).ID
		reason, edits := patch.Of("why"), []source.Edit{{Field: "source", Name: "a.md", Text: patch.Of("a")}}
		reads := map[string]func(c access.Caller) error{
			"get":               func(c access.Caller) error { return second(r.Get(ctx, c, id)) },
			"list":              func(c access.Caller) error { return second(r.Find(ctx, c, Filter{}, page.First)) },
			"find":              func(c access.Caller) error { return second(r.Find(ctx, c, Filter{Update: true}, page.First)) },
			"exporting":         func(c access.Caller) error { return second(r.Exporting(ctx, c, page.First)) },
			"unused":            func(c access.Caller) error { return second(r.Unused(ctx, c, page.First)) },
			"activity":          func(c access.Caller) error { return second(r.Activity(ctx, c, "", "", page.First)) },
			"catalog":           func(c access.Caller) error { return second(r.ListCatalog(ctx, c, page.First)) },
			"type of a deleted": func(c access.Caller) error { return second(r.TypeOfDeleted(ctx, c, id)) },
		}
		changes := map[string]func(c access.Caller) error{
			"create":      func(c access.Caller) error { return second(r.Create(ctx, c, named("y"))) },
			"update":      func(c access.Caller) error { return second(r.Update(ctx, c, id, named("y"))) },
			"save":        func(c access.Caller) error { return second(r.UpdateSource(ctx, c, id, Draft{}, edits)) },
			"review":      func(c access.Caller) error { return second(r.Review(ctx, c, id, Move{})) },
			"look":        func(c access.Caller) error { return second(r.ReviewInstall(ctx, c, repo.URL)) },
			"disable":     func(c access.Caller) error { return second(r.Disable(ctx, c, id, reason)) },
			"restore":     func(c access.Caller) error { return second(r.Restore(ctx, c, id, 1)) },
			"credentials": func(c access.Caller) error { return second(r.SetCredentials(ctx, c, id, repo.URL)) },
			"delete":      func(c access.Caller) error { return r.Delete(ctx, c, id) },
		}
		suspended := access.ReadApps
		if _, err := r.orgs().Set(ctx, access.Caller{}, r.caller.Organization.ID, org.Settings{AppAccess: &suspended}); err != nil {
			r.Fatal(err)
		}
		for _, stale := range []string{"update", "disable", "restore", "credentials", "delete"} {
			if err := changes[stale](r.caller); !fault.Is(err, fault.Denied) {
				r.Errorf("%s, by a right that is lost: %v", stale, err)
			}
		}
		for _, of := range []struct {
			level access.AppAccess
			calls map[string]func(c access.Caller) error
		}{{access.NoApps, reads}, {access.ReadApps, changes}} {
			c := r.caller
			c.Organization.AppAccess = of.level
			for name, call := range of.calls {
				if err := call(c); !fault.Is(err, fault.Denied) {
					r.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}
