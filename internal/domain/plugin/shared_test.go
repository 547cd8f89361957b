package plugin

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/upstream/upstreamtest"
)

// orgs returns the service for organizations.
func (r rig) orgs() org.Service { return org.Service{DB: r.DB, Keys: &access.Keys{DB: r.DB}} }

// Other organizations see the current version of a shared app and the versions made since it was shared; the older ones
// only its own organization sees.
func TestVersionsOfShared(t *testing.T) {
	each(t, func(r rig) {
		r.caller.Organization.AppAccess = access.RootApps
		p := r.create(named("x"))
		r.save(p.ID, "secret.md", patch.Of("not for others"))
		r.save(p.ID, "secret.md", patch.Field[string]{Null: true})
		r.save(p.ID, "a.md", patch.Of("for all"))
		r.update(p.ID, Draft{IsGlobal: patch.Of(true)})
		again := source.Edit{Field: "source", Name: "a.md", Text: patch.Of("for all, again")}
		if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{Message: patch.Of("not for others")}, []source.Edit{again}); err != nil {
			r.Fatal(err)
		}
		o, err := r.orgs().Create(r.Context(), "Other")
		if err != nil {
			r.Fatal(err)
		}
		other := access.Caller{Level: access.Member, Organization: o.Organization}
		for _, c := range []struct {
			caller access.Caller
			count  int
			sees   map[int64]bool
		}{
			{r.caller, 4, map[int64]bool{1: true, 2: true, 3: true, 4: true}},
			{other, 1, map[int64]bool{4: true}},
		} {
			found, err := r.Versions(r.Context(), c.caller, p.ID, page.First)
			if err != nil || found.Count != c.count || len(found.Items) != c.count || found.Items[0].Number != 4 || !found.Items[0].Current {
				r.Errorf("%s: %d versions, %v", c.caller.Organization.Name, found.Count, err)
			}
			one, err := r.Version(r.Context(), c.caller, p.ID, 4)
			for _, v := range []Version{found.Items[0], one} {
				if told := v.Message != "" && v.CreatedBy.ID != 0; told != (c.caller.Organization == r.caller.Organization) {
					r.Errorf("%s: by %d with the message %q, %v", c.caller.Organization.Name, v.CreatedBy.ID, v.Message, err)
				}
			}
			for n := int64(1); n <= 4; n++ {
				_, err := r.Diff(r.Context(), c.caller, p.ID, n, 0)
				if (err == nil) != c.sees[n] || err != nil && !fault.Is(err, fault.NotFound) {
					r.Errorf("%s: version %d: %v", c.caller.Organization.Name, n, err)
				}
				_, err = r.Diff(r.Context(), c.caller, p.ID, 4, n)
				if (err == nil) != c.sees[n] || err != nil && !fault.Is(err, fault.Invalid) {
					r.Errorf("%s: against version %d: %v", c.caller.Organization.Name, n, err)
				}
			}
		}
		diff, err := r.Diff(r.Context(), other, p.ID, 4, 0)
		if err != nil || len(diff) != 1 || diff[0].Name != "a.md" {
			r.Errorf("the first that others see: %+v, %v", diff, err)
		}
		r.update(p.ID, Draft{IsGlobal: patch.Of(false)})
		r.save(p.ID, "a.md", patch.Of("for us"))
		r.update(p.ID, Draft{IsGlobal: patch.Of(true)})
		if found, err := r.Versions(r.Context(), other, p.ID, page.First); err != nil || found.Count != 1 || found.Items[0].Number != 5 {
			r.Errorf("shared anew: %+v, %v", found, err)
		}
	})
}

// Which versions other organizations see does not depend on the clocks of the servers that made them and shared the app.
func TestVersionsOfSharedByOtherClocks(t *testing.T) {
	each(t, func(r rig) {
		r.caller.Organization.AppAccess = access.RootApps
		pass := r.clock()
		p := r.create(named("x"))
		r.save(p.ID, "a.md", patch.Of("not for others"))
		r.save(p.ID, "a.md", patch.Of("for all"))
		pass(-time.Minute)
		r.update(p.ID, Draft{IsGlobal: patch.Of(true)})
		pass(-time.Minute)
		r.save(p.ID, "a.md", patch.Of("for all, too"))
		pass(-time.Minute)
		r.save(p.ID, "a.md", patch.Of("for all, again"))
		o, err := r.orgs().Create(r.Context(), "Other")
		if err != nil {
			r.Fatal(err)
		}
		other := access.Caller{Level: access.Member, Organization: o.Organization}
		found, err := r.Versions(r.Context(), other, p.ID, page.First)
		if err != nil || found.Count != 2 || found.Items[0].Number != 4 || found.Items[1].Number != 3 {
			r.Errorf("%d versions: %+v, %v", found.Count, found.Items, err)
		}
	})
}

// An organization that may not use apps serves no bundles.
func TestBundlesWithoutAccess(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		saved := r.save(p.ID, "site.ts", patch.Of("export const a = 1"))
		r.elsewhereOwner() // of an organization that goes on
		for _, c := range []struct {
			access access.AppAccess
			served bool
		}{{access.ReadApps, true}, {access.NoApps, false}, {access.ReadApps, true}} {
			if _, err := r.orgs().Set(r.Context(), access.Caller{}, p.OrganizationID, org.Settings{AppAccess: &c.access}); err != nil {
				r.Fatal(err)
			}
			r.Bundles.Invalidate()
			for _, sum := range []string{"", saved.Bundle.SHA256} {
				if _, err := r.Bundles.Serve(r.Context(), saved.PublicToken, sum); (err == nil) != c.served || err != nil && !fault.Is(err, fault.NotFound) {
					r.Errorf("access %d, sum %q: %v", c.access, sum, err)
				}
			}
		}
	})
}

// However many shared apps others check for updates, the checks of the organization that shares them do not wait.
func TestChecksOfSharedByOthers(t *testing.T) {
	each(t, func(r rig) {
		r.caller.Organization.AppAccess = access.RootApps
		o, err := r.orgs().Create(r.Context(), "Other")
		if err != nil {
			r.Fatal(err)
		}
		other := access.Caller{Level: access.Member, Organization: o.Organization}
		own := r.install(r.publish(upstreamtest.NewHost(r)))
		asked, release := make(chan bool), make(chan bool)
		var ended atomic.Int64
		var others sync.WaitGroup
		for range 4 { // as many as upstream asks at once for one organization: half of its maxAsking
			host := upstreamtest.NewHost(r)
			p := r.install(r.publish(host))
			r.update(p.ID, Draft{IsGlobal: patch.Of(true)})
			host.Intercept(func(_ http.ResponseWriter, request *http.Request) bool {
				select {
				case asked <- true:
					select {
					case <-release:
					case <-request.Context().Done():
					}
					ended.Add(1)
				case <-release:
				}
				return false
			})
			others.Go(func() {
				if _, _, err := r.CheckForUpdates(r.Context(), other, p.ID); err != nil {
					r.Error(err)
				}
			})
			<-asked
		}
		r.check(own.ID, "v1.0.0", true)
		if n := ended.Load(); n > 0 {
			r.Errorf("it has waited for %d checks of others", n)
		}
		close(release)
		others.Wait()
	})
}
