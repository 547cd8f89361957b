package plugin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream/upstreamtest"
)

const everySix = 6 * time.Hour

// clock replaces the rig's clock, and returns a function that moves it.
func (r rig) clock() (pass func(time.Duration)) {
	now := r.DB.Now()
	var mu sync.Mutex
	r.DB.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	return func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
}

// told returns the data of the events of newer tags of an app.
func (r rig) told(id int64) []string {
	r.Helper()
	tags, err := db.All[string](r.Context(), r.DB, nil, `
		SELECT data FROM activity WHERE scope = $1 AND activity = $2 AND item_id = $3 ORDER BY id`, activity.Plugin, activity.Outdated, strconv.FormatInt(id, 10))
	if err != nil {
		r.Fatal(err)
	}
	return tags
}

func (r rig) checkUpdates() {
	r.Helper()
	if err := r.CheckUpdates(r.Context(), everySix); err != nil {
		r.Error(err)
	}
}

// Each new tag makes one event, whichever server finds it. An upstream is asked at most once in six hours, even by two
// servers for two organizations, and at least once in seven.
func TestCheckUpdates(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		r.Shown = func(b []byte, p Plugin) []byte { return append(b, `{"`+p.Tag+`":"`+p.LatestTag+`"}`...) }
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		p := r.install(repo)
		second := r
		second.caller = r.elsewhereOwner()
		q := second.install(repo)
		own := r.create(Draft{Name: patch.Of("own"), Tag: patch.Of("1")})
		servers := []rig{r.another(upstreamtest.Allow()), r.another(upstreamtest.Allow())} // with the clock of r
		requests := host.Requests()
		asked := func(after time.Duration, want int) {
			r.Helper()
			pass(after)
			var both sync.WaitGroup
			for _, server := range servers {
				both.Go(server.checkUpdates)
			}
			both.Wait()
			if n := host.Requests() - requests; n != want {
				r.Errorf("%d requests, want %d", n, want)
			}
			requests = host.Requests()
		}
		r.checkUpdates() // sets the first due time
		asked(everySix, 1)
		if tags := r.told(p.ID); len(tags) != 0 {
			r.Errorf("without a new tag: %q", tags)
		}
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		asked(0, 0)
		asked(everySix-time.Minute, 0)
		asked(time.Hour+time.Minute, 1)
		for _, app := range []Plugin{p, q} {
			if tags := r.told(app.ID); !slices.Equal(tags, []string{`{"v1.0.0":"v2.0.0"}`}) {
				r.Errorf("app %d: %q", app.ID, tags)
			}
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.LatestTag != "v2.0.0" || got.Tag != "v1.0.0" || got.Revision == p.Revision {
			r.Errorf("%+v, %v", got, err)
		}
		if found, err := r.Find(r.Context(), r.caller, Filter{Update: true}, page.First); err != nil || found.Count != 1 || found.Items[0].ID != p.ID {
			r.Errorf("with an update: %+v, %v", found, err)
		}
		asked(7*time.Hour, 1) // the same tag makes no second event
		r.upgrade(p.ID, Move{})
		requests = host.Requests()
		repo.Tag(r, "v3.0.0", "refs/heads/main")
		asked(7*time.Hour, 1)
		for id, want := range map[int64]string{p.ID: `{"v2.0.0":"v3.0.0"}`, q.ID: `{"v1.0.0":"v3.0.0"}`} {
			if tags := r.told(id); len(tags) != 2 || tags[1] != want {
				r.Errorf("app %d: %q", id, tags)
			}
		}
		if tags := r.told(own.ID); len(tags) != 0 {
			r.Errorf("without an upstream: %q", tags)
		}
	})
}

// The newest tag can be older than the app's own, if that is a pre-release or a deleted tag: there is no event then.
func TestCheckUpdatesOfPreRelease(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		r.Shown = func(b []byte, p Plugin) []byte { return append(b, `"`+p.LatestTag+`"`...) }
		r = r.another(upstreamtest.Allow()) // with the clock of r
		repo := r.publish(upstreamtest.NewHost(r))
		repo.Tag(r, "v2.0.0-beta.1", "refs/heads/main")
		p := r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL), Tag: patch.Of("v2.0.0-beta.1")})
		r.checkUpdates()
		pass(everySix)
		r.checkUpdates()
		if tags := r.told(p.ID); p.LatestTag != "v1.0.0" || len(tags) != 0 {
			r.Errorf("%s: told of %q", p.LatestTag, tags)
		}
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		pass(7 * time.Hour)
		r.checkUpdates()
		if tags := r.told(p.ID); !slices.Equal(tags, []string{`"v2.0.0"`}) {
			r.Errorf("told of %q", tags)
		}
	})
}

// A tag that was deleted and made again gets another event, even if the app was at the newest tag in between. A tag
// that the app has been at gets none.
func TestCheckUpdatesOfTagMadeAnew(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		r.Shown = func(b []byte, p Plugin) []byte { return append(b, `"`+p.LatestTag+`"`...) }
		r = r.another(upstreamtest.Allow()) // with the clock of r
		repo := r.publish(upstreamtest.NewHost(r))
		p := r.install(repo)
		var want []string
		check := func(told ...string) {
			r.Helper()
			pass(7 * time.Hour)
			r.checkUpdates()
			want = append(want, told...)
			if tags := r.told(p.ID); !slices.Equal(tags, want) {
				r.Errorf("told of %q, want %q", tags, want)
			}
		}
		move := func(tag string) {
			r.Helper()
			r.upgrade(p.ID, Move{Draft: Draft{Tag: patch.Of(tag)}})
		}
		r.checkUpdates()
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		check(`"v2.0.0"`)
		repo.Git(r, "", "update-ref", "-d", "refs/tags/v2.0.0")
		check()
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		check(`"v2.0.0"`)
		move("v2.0.0")
		check()
		move("v1.0.0")
		check()
	})
}

// An upstream that may not be asked, or fails, is not asked again for six hours either, and makes no event.
func TestCheckUpdatesOfRefusedUpstream(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		requests := host.Requests()
		refused := r.another(nil)
		refused.checkUpdates()
		pass(everySix)
		refused.checkUpdates()
		if n := host.Requests() - requests; n != 0 || len(r.told(p.ID)) != 0 {
			r.Errorf("%d requests to an address that is refused; %q", n, r.told(p.ID))
		}
		host.Fail(500)
		pass(7 * time.Hour)
		r.another(upstreamtest.Allow()).checkUpdates()
		if n := host.Requests() - requests; n != 1 || len(r.told(p.ID)) != 0 {
			r.Errorf("%d requests to one that fails; %q", n, r.told(p.ID))
		}
	})
}

// Each app of an organization has its own updates.
func TestCheckUpdatesOfTwoApps(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		r.Shown = func(b []byte, p Plugin) []byte { return append(b, `"`+p.LatestTag+`"`...) }
		host := upstreamtest.NewHost(r)
		first, second := r.publish(host), host.Repo(r, "second")
		second.Tag(r, "v1.0.0", second.Commit(r, map[string]string{"plugin.json": `{"name": "y"}`}))
		p, q := r.install(first), r.install(second)
		r.checkUpdates() // sets the first due time
		for i, repo := range []*upstreamtest.Repo{first, second} {
			repo.Tag(r, "v2.0.0", "refs/heads/main")
			pass(7 * time.Hour)
			r.another(upstreamtest.Allow()).checkUpdates()
			if len(r.told(p.ID)) != 1 || len(r.told(q.ID)) != i {
				r.Errorf("after the update of app %d: %d and %d events", i+1, len(r.told(p.ID)), len(r.told(q.ID)))
			}
		}
	})
}

// elsewhereOwner is the same user as the owner of another organization.
func (r rig) elsewhereOwner() access.Caller {
	r.Helper()
	o, err := r.orgs().Create(r.Context(), "Elsewhere")
	if err != nil {
		r.Fatal(err)
	}
	err = access.NewKeys(r.DB).Change(r.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := r.orgs().InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: o.ID, User: org.User{Email: "owner@acme.example"}, Level: access.Owner})
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	c := r.caller
	c.Organization = o.Organization
	return c
}

// Taking due upstreams and erasing an organization lock its apps in the same order.
func TestUpdatesAreDueDuringAnErasure(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t)) // SQLite has one transaction at a time
	r := newRig(t, d)
	var apps []Plugin
	for range 2 {
		p, err := r.Create(t.Context(), r.caller, Draft{Name: patch.Of("App"), Type: patch.Of("local")})
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, p)
	}
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (all error) {
		for i, p := range apps { // the upstream of the last app is due first
			o := origin{PluginID: p.ID, OrganizationID: p.OrganizationID, PublicToken: strconv.Itoa(i), URLKey: "url " + strconv.Itoa(i)}
			all = errors.Join(all, insertOrigin(ctx, tx, o), setFirstDue(ctx, tx, o.URLKey, d.Now().Add(-time.Duration(i+1)*time.Minute)))
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
	taken, erased := make(chan error, 1), make(chan error, 1)
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.One[int](ctx, tx, nil, `SELECT 1 FROM plugin_sources WHERE plugin_id = $1 FOR UPDATE`, apps[0].ID); err != nil {
			return err
		}
		go func() {
			erased <- d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return cmp.Or(LockAll(ctx, tx, r.caller.Organization.ID), r.EraseOrganization(ctx, tx, r.caller.Organization.ID))
			})
		}()
		if err := dbtest.AwaitWaiting(t.Context(), d, 1, taken, erased); err != nil {
			return err
		}
		go func() {
			_, err := r.takeDue(t.Context(), everySix)
			taken <- err
		}()
		return dbtest.AwaitWaiting(t.Context(), d, 2, taken, erased)
	})
	if err := errors.Join(err, <-taken, <-erased); err != nil {
		t.Error(err)
	}
}
