package org

import (
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A page of members is read in the order of an index, whatever its filter: its cost depends on what it shows, not on
// what there is.
func TestMembersReadAnIndex(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, f := range []MemberFilter{{}, {Level: 8}, {Search: "ada"}} {
			query, args := f.query("01890000-0000-7000-8000-000000000001", page.First)
			if plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n"); !strings.Contains(plan, "memberships_joined") {
				t.Errorf("%+v:\n%s", f, plan)
			}
		}
	})
}
