package invite

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// begins matches a plan that reads an index from a cursor on.
var begins = regexp.MustCompile(`(INDEX|Index Cond:).*\(created_at, ?id\) ?<`)

// The newest invites that a filter selects are found in the order of an index, and those that have expired or failed
// are counted in an index.
func TestFiltersReadAnIndex(t *testing.T) {
	t.Parallel()
	const ours = "01890000-0000-7000-8000-000000000001"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Unix(1e9, 0)
		anything := []Status{IsPending, IsExpired, IsAccepted}
		for _, f := range []Filter{{Statuses: anything}, {Statuses: anything, Search: "guest"}, {Statuses: []Status{IsExpired}}, {Level: 8}} {
			for _, after := range []cursor{{}, {now, ours}} {
				query, args := f.query(ours, now, after, page.First)
				plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n")
				tables := 0
				for _, table := range []string{"accepted_invites", "invites"} {
					if strings.Contains(query, "FROM "+table+" i") {
						tables++
						if !strings.Contains(plan, table+"_newest") {
							t.Errorf("%+v after %+v:\n%s", f, after, plan)
						}
					}
				}
				if after.id != "" && len(begins.FindAllString(plan, -1)) != tables {
					t.Errorf("%+v begins where all others do:\n%s", f, plan)
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
