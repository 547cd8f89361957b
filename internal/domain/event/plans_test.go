package event

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// others matches a step of a plan that reads deliveries of other webhooks, or all due ones before it sorts them.
var others = regexp.MustCompile(`Seq Scan on webhook_deliveries|SCAN d\b|Bitmap|MULTI-INDEX OR|webhook_deliveries_pkey`)

// However many deliveries of a webhook are due, or will be, a turn reads only the first ones, and a look none.
func TestTurnsReadFewDeliveries(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := d.Now()
		dbtest.Exec(t, d, `
			INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
			VALUES ($1, 'Acme', 9, TRUE, FALSE, '', $2)`, ours, now)
		dbtest.Exec(t, d, `
			INSERT INTO webhooks (organization_id, url, events, description, enabled, disabled_reason, secret, position, lease_until, created_at, updated_at)
			VALUES ($1, '', '[]', '', TRUE, '', '', 0, $2, $2, $2)`, ours, now)
		for _, at := range []time.Time{now, now.Add(time.Hour)} {
			dbtest.Exec(t, d, `
				INSERT INTO webhook_deliveries (webhook_id, organization_id, number, event_id, type, state, attempts, status, error, duration_ms, created_at, tried_at, due_at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
				SELECT w.id, w.organization_id, n.i, '', '', 'pending', 1, 500, 'status', 1, CAST($1 AS TIMESTAMPTZ), CAST($1 AS TIMESTAMPTZ), CAST($1 AS TIMESTAMPTZ) FROM n, webhooks w`, at)
		}
		dbtest.Vacuum(t, d)
		for _, c := range []struct {
			query string
			args  []any
		}{
			{selectDue, []any{int64(1), now, 8, ours, now.Add(maxPause)}},
			{selectWebhooks, []any{now, maxFine + maxOther, now.Add(maxAhead), now.Add(maxPause), 5000}},
		} {
			plan := strings.Join(dbtest.ExplainPrepared(t, d, c.query, c.args...), "\n")
			n := strings.Count(plan, "webhook_deliveries_due")
			if n != 2 || others.MatchString(plan) {
				t.Errorf("%d parts are read by their index:\n%s\n%s", n, c.query, plan)
			}
		}
	})
}
