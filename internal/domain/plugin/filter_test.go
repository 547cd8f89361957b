package plugin

import (
	"context"
	goflag "flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream/upstreamtest"
)

var million = goflag.Bool("million", false, "TestFindTimes looks among 1,000,000 apps, and TestSearchesOfEqualLetters runs")

const ours = "01981f0e-5c2b-7d34-9f7a-3b0c6f2f8a11"

// seedPlugins gives an organization n plugins; each filter selects some of them.
func seedPlugins(t *testing.T, d *db.DB, organizationID string, n int) {
	t.Helper()
	seed := func(do func(ctx context.Context, tx *db.Tx) error) {
		t.Helper()
		if err := d.InTx(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	seed(func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(ctx, tx, `
			INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
			VALUES ($1, 'Acme', 9, TRUE, FALSE, '', $2)`, organizationID, d.Now())
	})
	const atOnce = 100_000 // of a million, PostgreSQL would not answer in time
	for from := 0; from < n; from += atOnce {
		seed(func(ctx context.Context, tx *db.Tx) error {
			count(tx, Plugin{OrganizationID: organizationID}, int64(min(atOnce, n-from)), 0)
			return db.Exec(ctx, tx, `
				WITH RECURSIVE s (n) AS (SELECT $4 + 1 UNION ALL SELECT n + 1 FROM s WHERE n < $2)
				INSERT INTO plugins (organization_id, plugin_type, name, description, url, icon, tag, latest_tag, is_global, exports, created_at, updated_at,
					name_key, search, is_broken, is_edited, config_schema, capabilities)
				SELECT $1, CASE n % 5 WHEN 0 THEN 'source' WHEN 1 THEN 'custom' ELSE 'local' END, 'App ' || n, 'Forwards events to a warehouse', CASE n % 5 WHEN 1 THEN 'https://git.example.com/' || n ELSE '' END,
					'https://cdn.example.com/icon.png', 'v1.0.0', CASE n % 1000 WHEN 1 THEN 'v1.1.0' ELSE '' END, FALSE, FALSE, $3, $3,
					'app ' || n, 'app ' || n || ' forwards events to a warehouse', n % 1000 = 3, n % 1000 = 6,
					'[{"key":"apiKey","type":"string","secret":true},{"key":"host","type":"string"},{"key":"batch","type":"number"}]',
					'{"jobs":["sync"],"methods":["onEvent"]}'
				FROM s`, organizationID, min(from+atOnce, n), d.Now(), from)
		})
	}
	seed(func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(ctx, tx, `UPDATE plugins SET disabled_at = created_at WHERE organization_id = $1 AND id % 1000 = 2`, organizationID)
	})
}

// seedPlacements places 20 plugins on each of 20 sites.
func seedPlacements(t *testing.T, d *db.DB) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for site := range 20 {
			err := db.Exec(ctx, tx, `
				INSERT INTO sites (id, organization_id, name, token, enabled, is_demo, origins, revision, stamp, apps, created_at, updated_at)
				VALUES ($1, $2, $3, $3, TRUE, FALSE, '[]', 1, 1, '[]', $4, $4)`, site+1, ours, strconv.Itoa(site), d.Now())
			if err != nil {
				return err
			}
			err = db.Exec(ctx, tx, `
				INSERT INTO placements (site_id, app_id, organization_id, app_owner, enabled, position, version, running, kept, held, paths, config, config_size,
					site_values, created_at, updated_at)
				SELECT CAST($1 AS BIGINT), id, $2, $2, TRUE, 1, 0, 0, 0, '', '[]', '{}', 2, '{}', created_at, created_at FROM plugins WHERE organization_id = $2 AND id % 50 = $1`,
				site+1, ours)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// filtered is a filter, and the index that its page is read by.
type filtered struct {
	name, index string
	many        bool // it matches many, or a small table is scanned
	Filter
}

var filters = []filtered{
	{"search", "plugins_updated", true, Filter{Search: "APP 77"}},
	{"search, nothing", "plugins_updated", true, Filter{Search: "nothing of the kind"}},
	{"plugin_type", "plugins_type", false, Filter{Type: Inline}},
	{"is_global=true", "plugins_shared", true, Filter{Global: patch.Of(true)}},
	{"is_global=false", "plugins_own", true, Filter{Global: patch.Of(false)}},
	{"update=available", "plugins_update", false, Filter{Update: true}},
	{"state=disabled", "plugins_disabled", false, Filter{State: IsDisabled}},
	{"state=broken", "plugins_broken", false, Filter{State: IsBroken}},
	{"state=edited", "plugins_edited", false, Filter{State: IsEdited}},
	{"state=failing", "site_errors", true, Filter{State: IsFailing, now: time.Now()}},
	{"site", "placements USING", true, Filter{SiteID: 7}},
	{"id", "plugins", true, Filter{IDs: []int64{20_001, 20_003}}},
	{"ordering=name", "plugins_name", false, Filter{Order: page.Order{By: "name"}}},
	{"ordering=-name", "plugins_name", false, Filter{Order: page.Order{By: "name", Descending: true}}},
	{"ordering=created_at", "plugins_created", false, Filter{Order: page.Order{By: "created_at"}}},
	{"ordering=-created_at", "plugins_created", false, Filter{Order: page.Order{By: "created_at", Descending: true}}},
	{"ordering=updated_at", "plugins_updated", false, Filter{Order: page.Order{By: "updated_at"}}},
	{"ordering=-updated_at", "plugins_updated", false, Filter{Order: page.Order{By: "updated_at", Descending: true}}},
}

// readsAnIndex checks the plans of a filter's page and count.
func (f filtered) readsAnIndex(t *testing.T, d *db.DB, sees visibleNow) {
	t.Helper()
	index := f.index
	if f.many && !dbtest.IsSQLite(t, d) {
		index = " plugins_" // any index that gives the first of many
	}
	reads := func(query string, args []any) {
		t.Helper()
		plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n") + "\n"
		if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan on plugins") || strings.Contains(plan, "SCAN plugins\n") {
			t.Errorf("%s, %d of others, is not read by %s:\n%s", f.name, sees.others, index, plan)
		}
	}
	query, args := f.query(ours, sees, 0, page.First, f.Search != "")
	reads(query, args)
	if steps := dbtest.Explain(t, d, query, args...); strings.Contains(steps[len(steps)-1], "TEMP B-TREE") {
		t.Errorf("%s, %d of others: whole apps are sorted:\n%s", f.name, sees.others, strings.Join(steps, "\n"))
	}
	if query, args := f.countQuery(ours, sees); query != "" && f.Global != patch.Of(false) { // the count of those is a difference
		reads(query, args)
	}
}

// The page and the count of each filter and of each order are read by an index, whether the organization sees apps of
// others or not.
func TestFiltersReadAnIndex(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i := range 20 {
			seedPlugins(t, d, "theirs "+strconv.Itoa(i), 1000)
		}
		seedPlugins(t, d, ours, 1000)
		seedPlacements(t, d)
		dbtest.Vacuum(t, d)
		for _, f := range filters {
			for _, sees := range []visibleNow{{own: 1000}, {own: 1000, others: 2}} {
				f.readsAnIndex(t, d, sees)
			}
		}
		plan := strings.Join(dbtest.Explain(t, d, exporting, ours), "\n")
		if covered := strings.Contains(plan, "COVERING INDEX plugins_own") || strings.Contains(plan, "Index Only Scan using plugins_own"); !covered {
			t.Errorf("those that export are looked for in the rows of all:\n%s", plan)
		}
		plan = strings.Join(dbtest.Explain(t, d, countUnused, ours, time.Now()), "\n")
		if indexed := strings.Contains(plan, "COVERING INDEX plugins_own") && strings.Contains(plan, "placements_owner"); !indexed && dbtest.IsSQLite(t, d) {
			t.Errorf("what nobody uses is counted in the rows of all:\n%s", plan)
		}
	})
}

// The searches of one organization have one connection: slow ones do not take those of the others.
func TestSearchesTakeTurns(t *testing.T) {
	each(t, func(r rig) {
		r.Searches = fair.OneEach(0, "Full")
		leave, err := r.Searches.Enter(r.Context(), r.caller.Organization.ID)
		if err != nil {
			r.Fatal(err)
		}
		find := func(f Filter) error {
			_, err := r.Find(r.Context(), r.caller, f, page.First)
			return err
		}
		if err := find(Filter{Search: "x"}); !fault.Is(err, fault.Busy) {
			r.Errorf("a second search: %v", err)
		}
		if err := find(Filter{State: IsBroken}); err != nil {
			r.Error(err)
		}
		leave()
		if err := find(Filter{Search: "x"}); err != nil {
			r.Error(err)
		}
	})
}

// Each letter of a long description is not compared with each of a long search, as by LIKE, which takes 500 times as
// long.
func TestSearchesOfEqualLetters(t *testing.T) {
	if !*million {
		t.Skip("ask for it with -million")
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		for range 50 {
			r.create(Draft{Type: patch.Of(string(Local)), Name: patch.Of("App"), Description: patch.Of(strings.Repeat("a", 10_000))})
		}
		search := func(text string) time.Duration {
			return fastest(t, func() error {
				found, err := r.Find(t.Context(), r.caller, Filter{Search: text}, page.First)
				if found.Count != 0 {
					t.Errorf("%d are found", found.Count)
				}
				return err
			})
		}
		plain, equal := search("b"), search(strings.Repeat("a", 399)+"b")
		if equal > 50*plain {
			t.Errorf("a search of equal letters takes %s, another %s", equal, plain)
		}
	})
}

// An installed app counts as edited while its files differ from the installed ones, whatever its other fields are.
func TestFindEdited(t *testing.T) {
	each(t, func(r rig) {
		repo := r.publish(upstreamtest.NewHost(r))
		p := r.install(repo)
		finds := func(what string, want int) {
			r.Helper()
			if found, err := r.Find(r.Context(), r.caller, Filter{State: IsEdited}, page.First); err != nil || found.Count != want {
				r.Errorf("%s: %d are found, %v", what, found.Count, err)
			}
		}
		finds("installed", 0)
		r.update(p.ID, Draft{ConfigSchema: patch.Of(`[{"key":"a"}]`)})
		finds("with another config_schema", 0)
		r.save(p.ID, "site.ts", patch.Of("export const a = 1"))
		finds("saved", 1)
		r.save(r.create(named("broken")).ID, "site.ts", patch.Of("export const"))
		r.save(r.create(named("works")).ID, "site.ts", patch.Of("export const a = 1"))
		finds("beside apps made here", 1)
		if found, err := r.Find(r.Context(), r.caller, Filter{State: IsBroken}, page.First); err != nil || found.Count != 1 || found.Items[0].Name != "broken" {
			r.Errorf("broken: %+v, %v", found, err)
		}
		r.save(p.ID, "site.ts", patch.Field[string]{Set: true, Null: true})
		finds("as it came", 0)
	})
}

// Only the organization that shares an app can upgrade it, so only that one finds its update.
func TestFindUpdates(t *testing.T) {
	each(t, func(r rig) {
		r.caller.Organization.AppAccess = access.RootApps
		repo := r.publish(upstreamtest.NewHost(r))
		p := r.install(repo)
		r.update(p.ID, Draft{IsGlobal: patch.Of(true)})
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		r.check(p.ID, "v2.0.0", true)
		other := r.elsewhereOwner()
		for _, c := range []struct {
			caller access.Caller
			Filter
			want int
		}{{r.caller, Filter{Update: true}, 1}, {other, Filter{Update: true}, 0}, {other, Filter{Global: patch.Of(true)}, 1}} {
			if found, err := r.Find(r.Context(), c.caller, c.Filter, page.First); err != nil || found.Count != c.want || len(found.Items) != c.want {
				r.Errorf("%s, %+v: %d are found, want %d, %v", c.caller.Organization.Name, c.Filter, found.Count, c.want, err)
			}
		}
	})
}

// A page that ends early, because its apps are large, says that there are more.
func TestLargePages(t *testing.T) {
	each(t, func(r rig) {
		const apps = page.MaxBytes/maxStructure + 2
		for i := range apps {
			r.create(Draft{Name: patch.Of(strconv.Itoa(i)), Metrics: patch.Of(`["` + strings.Repeat("x", maxStructure-4) + `"]`)})
		}
		for _, f := range []Filter{{}, {Type: Local}} {
			found, err := r.Find(r.Context(), r.caller, f, page.First)
			if n := len(found.Items); err != nil || found.Count != apps || n == 0 || n == apps || !found.More {
				r.Errorf("%+v: %d of %d, and more: %t, %v", f, n, found.Count, found.More, err)
			}
		}
	})
}

// TestFindTimes measures each filter among 1,000,000 apps of one organization. A search and a count take at most a
// second; the page of any other filter takes at most twice the time of no filter, plus some noise. All are read by an
// index, except a search on PostgreSQL: the table holds nothing but what it looks at, so it is scanned.
func TestFindTimes(t *testing.T) { // not parallel: it measures
	if !*million {
		t.Skip("ask for it with -million")
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		url := "sqlite:" + t.TempDir() + "/foyer.db"
		if engine == "postgres" {
			url = dbtest.Postgres(t)
		}
		d := dbtest.Open(t, url)
		const apps = 1_000_000
		seedPlugins(t, d, ours, apps)
		dbtest.Vacuum(t, d)
		sees := visibleNow{own: apps}
		pageOf := func(f Filter) time.Duration {
			query, args := f.query(ours, sees, 0, page.First, f.Search != "")
			return fastest(t, func() error {
				_, err := db.All(t.Context(), d, (*Plugin).fields, query, args...)
				return err
			})
		}
		first := pageOf(Filter{})
		for _, f := range filters {
			if f.Search == "" || engine == "sqlite" {
				f.readsAnIndex(t, d, sees)
			}
			total := func() error {
				_, err := f.count(t.Context(), d, ours, sees)
				return err
			}
			read, counted := pageOf(f.Filter), fastest(t, total)
			t.Logf("%s %-22s page %8s, count %8s", engine, f.name, read, counted)
			bar := 2*first + time.Millisecond
			if f.Search != "" {
				bar = time.Second
			}
			if read > bar || counted > time.Second {
				t.Errorf("the page of %s may take %s, and its count a second", f.name, bar)
			}
		}
	}
}

// fastest returns the time of the fastest of several runs, because the machine may be busy.
func fastest(t *testing.T, run func() error) time.Duration {
	t.Helper()
	best := time.Hour
	for range 5 {
		begun := time.Now()
		if err := run(); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(begun))
	}
	return best.Round(10 * time.Microsecond)
}
