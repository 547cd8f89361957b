package site

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A list of sites in any order and with any filter is read by an index from the organization's sites, at most 1,000,
// and not from all sites.
func TestFiltersReadAnIndex(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const ours, organizations, sites = "organization 7", 20, 200
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for i := range organizations {
				organization := "organization " + strconv.Itoa(i)
				err := db.Exec(ctx, tx, `
					INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
					VALUES ($1, 'Acme', 9, TRUE, FALSE, '', $2)`, organization, d.Now())
				if err != nil {
					return err
				}
				err = db.Exec(ctx, tx, `
					WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < $2)
					INSERT INTO sites (organization_id, name, name_key, token, enabled, is_demo, origins, revision, stamp, apps, created_at, updated_at)
					SELECT $1, 'Site ' || n, 'site ' || n, $1 || ' ' || n, TRUE, FALSE, '[]', 1, 1, '[]', $3, $3 FROM s`, organization, sites, d.Now())
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		dbtest.Vacuum(t, d)
		filters := []Filter{{}, {Search: "site 7"}}
		for _, by := range []string{"name", "created_at", "updated_at"} {
			filters = append(filters, Filter{Order: page.Order{By: by}}, Filter{Order: page.Order{By: by, Descending: true}}, Filter{Search: "7", Order: page.Order{By: by}})
		}
		wants := func(f Filter, query string, args []any) {
			t.Helper()
			plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n")
			if !strings.Contains(plan, "(organization_id=?)") && !strings.Contains(plan, " sites_organization_id_name_key") {
				t.Errorf("%+v is not read by the organization:\n%s", f, plan)
			}
		}
		for _, f := range filters {
			query, args := f.query(ours, page.First)
			wants(f, query, args)
			query, args = f.counting(ours)
			wants(f, query, args)
		}
	})
}
