package job

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// passesOver matches the step of a plan that reads jobs to sort them, or to leave out those that are held.
var passesOver = regexp.MustCompile(`TEMP B-TREE|Sort|is_held`)

// A claim reads the first due jobs where many may wait, and otherwise only those of its kinds: neither all that wait nor
// all that are due, nor those that are held.
func TestClaimsReadFewJobs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const n = 3000
		now := d.Now()
		due, later := make([]string, n), make([]string, n)
		for i := range n {
			due[i], later[i] = strconv.Itoa(i), "later "+strconv.Itoa(i)
		}
		q := New(d)
		put(t, q, "invite", due...)
		d.Now = func() time.Time { return now.Add(time.Hour) }
		put(t, q, "invite", later...)
		put(t, q, "signin", "")
		dbtest.Vacuum(t, d)
		byKind := "jobs_kind_item_key"
		if dbtest.IsSQLite(t, d) {
			byKind = "sqlite_autoindex_jobs_1 (kind=?)"
		}
		for _, c := range []struct {
			group
			index string
		}{
			{group{kinds: []string{"invite"}, many: true}, "jobs_due"},
			{group{kinds: []string{"signin"}}, byKind},
		} {
			for _, query := range []string{selectDue + c.due() + firstDue, selectAny + c.due() + firstDue + `) AS first`} {
				plan := strings.Join(dbtest.ExplainPrepared(t, d, query, d.Now()), "\n")
				if !strings.Contains(plan, c.index) || c.many && passesOver.MatchString(plan) {
					t.Errorf("%+v, not by %s:\n%s", c.group, c.index, plan)
				}
			}
		}
	})
}
