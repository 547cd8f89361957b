package plugin

import (
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// The upstreams that are due first are read in the order of an index, not with all that are due.
func TestFirstURLsReadFewSources(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		seedPlugins(t, d, ours, 3000)
		dbtest.Exec(t, d, `
			INSERT INTO plugin_sources (plugin_id, organization_id, public_token, current_number, url_key, check_due_at)
			SELECT id, organization_id, CAST(id AS TEXT), 1, CAST(id AS TEXT), CAST($1 AS TIMESTAMPTZ) FROM plugins`, d.Now())
		dbtest.Vacuum(t, d)
		plan := strings.Join(dbtest.Explain(t, d, firstURLs, d.Now(), d.Now().Add(time.Hour), updateBatch), "\n")
		if !strings.Contains(plan, "plugin_sources_due") || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("all that are due are read:\n%s", plan)
		}
	})
}

// Which versions the sites have is read once, not for each version.
func TestSurplusReadsPlacementsOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		plan := strings.Join(dbtest.Explain(t, d, surplus, int64(1), maxSaved), "\n")
		if strings.Contains(plan, "CORRELATED") || !dbtest.IsSQLite(t, d) && !strings.Contains(plan, "hashed SubPlan") {
			t.Errorf("placements are read for each version:\n%s", plan)
		}
	})
}
