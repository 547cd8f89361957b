package site

import (
	"context"
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

var timed = flag.Bool("timed", false, "tests that measure fail if something takes too long, which it may on a busy machine")

// An app on 1,000 sites is upgraded within 100 MB, with one statement that finds all sites and six for each batch; on an
// idle machine, within 2 s. Not parallel: what it allocates is counted for the whole process.
func TestFollowThousandSites(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 1,000 sites")
	}
	for engine, url := range map[string]string{"sqlite": "sqlite:" + t.TempDir() + "/foyer.db", "postgres": dbtest.Postgres(t)} {
		t.Run(engine, func(t *testing.T) { followThousandSites(newRig(t, dbtest.Open(t, url))) })
	}
}

// copy makes more sites, with the apps of one.
func (r rig) copy(s Site, times int) {
	r.Helper()
	err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
		err := db.Exec(ctx, tx, `
			WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < $2)
			INSERT INTO sites (organization_id, name, name_key, token, enabled, is_demo, origins, revision, stamp, apps, created_at, updated_at)
			SELECT organization_id, name || n, name_key || n, token || n, enabled, is_demo, origins, revision, stamp, apps, created_at, updated_at
			FROM sites, copies WHERE id = $1`, s.ID, times)
		if err != nil {
			return err
		}
		return db.Exec(ctx, tx, `
			INSERT INTO placements (site_id, app_id, organization_id, app_owner, enabled, position, version, running, kept, held, paths, config,
				config_size, site_values, created_at, updated_at)
			SELECT sites.id, app_id, p.organization_id, app_owner, p.enabled, position, version, running, kept, held, paths, config,
				config_size, site_values, p.created_at, p.updated_at
			FROM placements p, sites WHERE site_id = $1 AND sites.id <> $1 AND sites.organization_id = p.organization_id`, s.ID)
	})
	if err != nil {
		r.Fatal(err)
	}
}

func followThousandSites(r rig) {
	p := r.app(r.caller, "app", `[{"key": "text", "type": "string", "site": true}]`)
	one := r.site(r.caller, "site")
	r.place(r.caller, one, p, "text", `"`+strings.Repeat("x", 1000)+`"`)
	r.copy(one, 999)
	if _, err := r.Create(r.Context(), r.caller, Draft{Name: patch.Of("one more")}); blames(err) != "invalid" {
		r.Errorf("1,001 sites: %v", err)
	}
	r.save(r.caller, p.ID, "two")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, asked := time.Now(), dbtest.Statements(r.DB)
	if _, err := r.plugins.Upgrade(r.Context(), r.caller, p.ID, plugin.Move{Version: patch.Of("1")}); err != nil {
		r.Fatal(err)
	}
	took, statements := time.Since(began), dbtest.Statements(r.DB)-asked
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	r.Logf("took %v, %d statements, allocated %d MB", took, statements, allocated)
	limit := int64(6*(1000/batch+1) + 25) // 25 change the app
	if dbtest.IsSQLite(r, r.DB) {
		limit *= 2 // make rehearse runs each twice
	}
	if statements > limit || allocated > 100 || *timed && took > 2*time.Second {
		r.Errorf("took %v, %d statements, allocated %d MB", took, statements, allocated)
	}
	r.wants("one of them", one, `app@1{"text":"`+strings.Repeat("x", 1000)+`"}`)
	err := r.DB.View(r.Context(), func(ctx context.Context, q db.Querier) error {
		n, err := db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM sites, placements WHERE site_id = id AND running = 1 AND apps LIKE '%"version":1,%'`)
		if err == nil && n != 1000 {
			r.Errorf("%d sites run it", n)
		}
		return err
	})
	if err != nil {
		r.Error(err)
	}
}
