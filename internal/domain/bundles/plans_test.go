package bundles

import (
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A bundle is found by its sum, not among all versions of its plugin, each with the schema of its values.
func TestBySumReadsOneVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := d.Now()
		dbtest.Exec(t, d, `
			INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
			VALUES ('acme', 'Acme', 9, TRUE, FALSE, '', $1)`, now)
		dbtest.Exec(t, d, `
			INSERT INTO plugins (organization_id, plugin_type, name, description, url, icon, tag, latest_tag, is_global, exports, created_at, updated_at)
			VALUES ('acme', 'source', 'App', '', '', '', '', '', FALSE, FALSE, $1, $1)`, now)
		dbtest.Exec(t, d, `INSERT INTO plugin_sources (plugin_id, organization_id, public_token, current_number) SELECT id, 'acme', 'token', 1 FROM plugins`)
		dbtest.Exec(t, d, `
			INSERT INTO contents (sha256, content)
			WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 3000) SELECT CAST(n AS TEXT), '' FROM s`)
		dbtest.Exec(t, d, `
			INSERT INTO plugin_versions (plugin_id, number, tag, commit_name, sha256, bundle, bundle_integrity, bundle_size, created_at)
			SELECT p.id, CAST(c.sha256 AS BIGINT), '', '', '', c.sha256, '', 0, p.created_at FROM plugins p, contents c`)
		dbtest.Vacuum(t, d)
		plan := strings.Join(dbtest.ExplainPrepared(t, d, selectBySum, "token", access.ReadApps, "sum"), "\n")
		if !strings.Contains(plan, "plugin_versions_bundle") {
			t.Errorf("all versions are read:\n%s", plan)
		}
	})
}
