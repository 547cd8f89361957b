package invite

import (
	"strings"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// The newest invites that a filter leaves are found in the order of an index, and those that have expired or
// failed are counted in one.
func TestFiltersReadAnIndex(t *testing.T) {
	t.Parallel()
	const ours = "01890000-0000-7000-8000-000000000001"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Unix(1e9, 0)
		anything := []Status{IsPending, IsExpired, IsAccepted}
		for _, f := range []Filter{{Statuses: anything}, {Statuses: anything, Search: "guest"}, {Statuses: []Status{IsExpired}}, {Level: 8}} {
			query, args := f.query(ours, now, page.First)
			plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n")
			for _, table := range []string{"accepted_invites", "invites"} {
				if strings.Contains(query, "FROM "+table+" i") && !strings.Contains(plan, table+"_newest") {
					t.Errorf("%+v:\n%s", f, plan)
				}
			}
		}
		for _, f := range []struct {
			index string
			Filter
		}{
			{"invites_newest", Filter{Statuses: []Status{IsExpired}}},
			{"invites_newest", Filter{Search: "guest"}},
			{"invites_failed", Filter{Delivery: Failed}},
		} {
			query, args := f.count(ours, now)
			if plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n"); !strings.Contains(plan, f.index) || dbtest.IsSQLite(t, d) && f.index == "invites_newest" && !strings.Contains(plan, "COVERING") {
				t.Errorf("%+v:\n%s", f.Filter, plan)
			}
		}
	})
}
