package access

import (
	"strings"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// The list of all members' keys reads many rows to show a few: on SQLite it finds them, and counts them, in indexes alone.
func TestMemberKeysReadIndexes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if !dbtest.IsSQLite(t, d) {
			return // the planner of PostgreSQL goes by the size of the tables
		}
		plan := dbtest.Explain(t, d, `SELECT COUNT(*)`+ofMembers, "01890000-0000-7000-8000-000000000001", Owner)
		for _, step := range plan {
			if !strings.Contains(step, "COVERING INDEX") {
				t.Errorf("%q in %q", step, plan)
			}
		}
	})
}
