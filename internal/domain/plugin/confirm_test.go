package plugin

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream/upstreamtest"
)

// admin adds a member with a key to the rig's organization, and returns functions that each take a right away from
// them.
func (r rig) admin() (c access.Caller, losses map[string]func() error) {
	r.Helper()
	keys := &access.Keys{DB: r.DB}
	orgs := org.Service{DB: r.DB, Keys: keys}
	ctx, id := r.Context(), r.caller.Organization.ID
	const email = "admin@acme.example"
	_, _ = orgs.RemoveMember(ctx, id, email) // left by an earlier turn
	installs := access.InstallApps
	if _, err := orgs.Set(ctx, access.Caller{}, id, org.Settings{AppAccess: &installs}); err != nil {
		r.Fatal(err)
	}
	var m org.Membership
	err := keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		m, err = orgs.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: id, User: org.User{Email: email}, Level: access.Admin})
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	key, _, err := keys.Create(ctx, access.Draft{UserID: m.User.ID, Scope: access.All})
	if err != nil {
		r.Fatal(err)
	}
	c = r.caller
	c.UserID, c.KeyID, c.Level = m.User.ID, key.ID, access.Admin
	return c, map[string]func() error{
		"key revoked": func() error { return keys.Revoke(ctx, key.ID) },
		"lowered": func() error {
			_, err := orgs.SetLevel(ctx, id, email, access.Member)
			return err
		},
		"removed": func() error {
			_, err := orgs.RemoveMember(ctx, id, email)
			return err
		},
		"organization without apps": func() error {
			none := access.NoApps
			_, err := orgs.Set(ctx, access.Caller{}, id, org.Settings{AppAccess: &none})
			return err
		},
	}
}

// A caller who loses a right while an upstream answers stores nothing.
func TestRightLostAtTheUpstream(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo, other, moved := host.Repo(r, "app"), host.Repo(r, "other"), host.Repo(r, "moved")
		for _, app := range []*upstreamtest.Repo{repo, other, moved} {
			app.Tag(r, "v1.0.0", app.Commit(r, map[string]string{"plugin.json": `{"name": "App"}`}))
		}
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "Two"}`}))
		_, losses := r.admin()
		for name := range losses {
			for what, change := range map[string]func(c access.Caller) error{
				"install": func(c access.Caller) error {
					_, err := r.Create(r.Context(), c, Draft{Type: patch.Of("custom"), URL: patch.Of(other.URL)})
					return err
				},
				"upgrade": func(c access.Caller) error {
					_, err := r.Upgrade(r.Context(), c, p.ID, Move{})
					return err
				},
				"another tag": func(c access.Caller) error {
					_, err := r.Update(r.Context(), c, p.ID, Draft{Tag: patch.Of("v2.0.0")})
					return err
				},
				"another url": func(c access.Caller) error {
					_, err := r.Update(r.Context(), c, p.ID, Draft{URL: patch.Of(moved.URL)})
					return err
				},
			} {
				c, losses := r.admin()
				var once sync.Once
				host.Intercept(func(http.ResponseWriter, *http.Request) bool {
					once.Do(func() {
						if err := losses[name](); err != nil {
							r.Error(err)
						}
					})
					return false
				})
				if err := change(c); !fault.Is(err, fault.Denied) {
					r.Errorf("%s, %s: %v", what, name, err)
				}
				host.Intercept(nil)
			}
		}
		if now, err := r.Get(r.Context(), r.caller, p.ID); err != nil || now.URL != p.URL || now.Tag != p.Tag {
			r.Errorf("it is %+v, %v", now, err)
		}
		found, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
		if apps := r.count(`SELECT COUNT(*) FROM plugins`); err != nil || apps != 1 || found.Count != 1 {
			r.Errorf("%d apps, %d versions: %v", apps, found.Count, err)
		}
		if n := r.count(`SELECT COUNT(*) FROM activity WHERE scope = 'Plugin'`); n != 1 {
			r.Errorf("%d entries", n)
		}
	})
}

// A caller who may no longer share apps cannot install a shared one.
func TestSharingLostAtTheUpstream(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := host.Repo(r, "app")
		repo.Commit(r, map[string]string{"plugin.json": `{"name": "App"}`})
		orgs := org.Service{DB: r.DB, Keys: &access.Keys{DB: r.DB}}
		set := func(a access.AppAccess) {
			if _, err := orgs.Set(r.Context(), access.Caller{}, r.caller.Organization.ID, org.Settings{AppAccess: &a}); err != nil {
				r.Error(err)
			}
		}
		set(access.RootApps)
		r.caller.Organization.AppAccess = access.RootApps
		host.Intercept(func(http.ResponseWriter, *http.Request) bool {
			set(access.InstallApps)
			return false
		})
		d := Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL), IsGlobal: patch.Of(true)}
		if _, err := r.Create(r.Context(), r.caller, d); !fault.Is(err, fault.Denied) || r.count(`SELECT COUNT(*) FROM plugins`) != 0 {
			r.Errorf("got %v", err)
		}
	})
}

// A caller who loses a right while their save waits for the compiler stores nothing.
func TestRightLostAtTheCompiler(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		_, losses := r.admin()
		edits := []source.Edit{{Field: "source", Name: "site.ts", Text: patch.Of("export const a = 1")}}
		for name := range losses {
			for what, change := range map[string]func(c access.Caller) error{
				"save": func(c access.Caller) error {
					_, err := r.UpdateSource(r.Context(), c, p.ID, Draft{}, edits)
					return err
				},
				"create": func(c access.Caller) error {
					_, err := r.Create(r.Context(), c, Draft{Name: patch.Of("y"), Source: edits})
					return err
				},
			} {
				c, losses := r.admin()
				release := r.occupyChildren()
				done := make(chan error, 1)
				go func() { done <- change(c) }()
				for r.Children.Waiting() == 0 {
					runtime.Gosched()
				}
				if err := losses[name](); err != nil {
					r.Error(err)
				}
				release()
				if err := <-done; !fault.Is(err, fault.Denied) {
					r.Errorf("%s, %s: %v", what, name, err)
				}
			}
		}
		if apps, versions := r.count(`SELECT COUNT(*) FROM plugins`), r.count(`SELECT COUNT(*) FROM plugin_versions`); apps != 1 || versions != 0 {
			r.Errorf("%d apps, %d versions", apps, versions)
		}
	})
}

// occupyChildren keeps all child processes busy until release is called.
func (r rig) occupyChildren() (release func()) {
	var feeds []*io.PipeWriter
	var all sync.WaitGroup
	for i := range 2 {
		in, feed := io.Pipe()
		feeds = append(feeds, feed)
		all.Go(func() {
			_, _ = r.Children.Run(context.WithoutCancel(r.Context()), string(rune('a'+i)), bundle.TaskName, in)
		})
	}
	for r.Children.Running() < 2 {
		runtime.Gosched()
	}
	return func() {
		for _, feed := range feeds {
			feed.Close()
		}
		all.Wait()
	}
}

// Events have the organization's current name, even if it has changed since the caller was admitted.
func TestRenamedMeanwhile(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.Shown = func(b []byte, p Plugin) []byte { return append(append(append(b, '"'), p.OrganizationName...), '"') }
		if _, err := r.orgs().Set(r.Context(), access.Caller{}, r.caller.Organization.ID, org.Settings{Name: new("Renamed")}); err != nil {
			r.Fatal(err)
		}
		d := named("y")
		d.Source = []source.Edit{{Field: "source", Name: "a.md", Text: patch.Of("a")}}
		p, made := r.update(p.ID, named("z")), r.create(d)
		events, err := db.All[string](r.Context(), r.DB, nil, `SELECT data FROM activity WHERE scope = $1 AND data IS NOT NULL`, activity.Plugin)
		if err != nil || strings.Join(events, " ") != `"Renamed" "Renamed"` || p.OrganizationName != "Renamed" || made.OrganizationName != "Renamed" {
			r.Errorf("events %s, answers of %s and %s, %v", events, p.OrganizationName, made.OrganizationName, err)
		}
	})
}
