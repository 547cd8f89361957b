//go:build unix

package api_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

var growth = flag.Bool("growth", false, "run BenchmarkGrowth, which fills a database of 3 GB")

// BenchmarkGrowth answers the same requests for a small organization and for a large one, about any of its apps and
// invites, and follows next at both ends of the large lists. It also reports processor time, which depends less on
// other load of the machine.
func BenchmarkGrowth(b *testing.B) {
	if !*growth {
		b.Skip("ask for it with -growth")
	}
	small := size{apps: 1_000, invites: 1_000, entries: 2_000}
	large := size{apps: 1_000_000, invites: 100_000, entries: 5_000_000}
	b.Run("small", func(b *testing.B) { small.answer(b, small.open(b)) })
	b.Run("large", func(b *testing.B) {
		o := large.open(b)
		for _, path := range []string{apps, invites} {
			n := map[string]int{apps: large.apps, invites: large.invites}[path]
			name := strings.Trim(path, "/")
			b.Run("next-at-the-start-"+name, func(b *testing.B) { o.walk(b, path, 0) })
			b.Run("next-at-the-end-"+name, func(b *testing.B) { o.walk(b, path, n-100*(walked+1)) })
		}
		large.answer(b, o)
	})
}

// size is the number of objects in an organization.
type size struct{ apps, invites, entries int }

// grown is a server whose first organization has a given size.
type grown struct {
	*rig
	handler http.Handler
}

func (s size) open(b *testing.B) grown {
	b.Helper()
	r := newRig(b, dbtest.Open(b, "sqlite:"+filepath.Join(b.TempDir(), "foyer.db")))
	s.seed(b, r)
	return grown{r, r.api.Observe(r.api.Handler(func(*wire.Mux) {}), func(*http.Request, api.Outcome) {})}
}

// seed fills the first organization, after entries of the other one have grown the WAL to its usual size: growing it
// costs more than overwriting it.
func (s size) seed(b *testing.B, r *rig) {
	b.Helper()
	const batch, others = 50_000, 300_000
	err := r.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
		return seedActivity(b.Context(), tx, r, r.other.ID, 0, others)
	})
	if err != nil {
		b.Fatal(err)
	}
	for after := 0; after < s.entries; after += batch {
		part := func(n int) int { return min(batch, max(0, n-after)) }
		err := r.db.InTx(b.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(
				seedApps(b.Context(), tx, r, after, part(s.apps)),
				seedInvites(b.Context(), tx, r, after, part(s.invites)),
				seedActivity(b.Context(), tx, r, r.org.ID, after, part(s.entries)),
			)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// answer measures the loads. Those that grow the organization come last.
func (s size) answer(b *testing.B, o grown) {
	b.Helper()
	var serial, deleted atomic.Int64
	invited := func() string { return inviteID(int64(s.invites) + deleted.Add(1)) }
	all := loads(func(n int64) int64 { return s.app(n % asked) }, invited)
	ofAll := loads(s.app, invited)
	ofAll[0].name, ofAll[5].name = "W1-of-all-apps", "W6-of-all-apps"
	for _, l := range slices.Concat(all[:2], all[4:], ofAll[:1], ofAll[5:6], all[2:4]) {
		b.Run(l.name, func(b *testing.B) {
			if l.status == http.StatusNoContent {
				more := func(ctx context.Context, tx *db.Tx) error {
					return seedInvites(b.Context(), tx, o.rig, s.invites+int(deleted.Load()), b.N)
				}
				if err := o.db.InTx(b.Context(), more); err != nil {
					b.Fatal(err)
				}
			}
			o.checkpoint(b)
			b.SetParallelism(8)
			measure(b, func() { l.run(b, o.rig, o.handler, &serial) })
		})
	}
}

// asked is how many apps are read and changed repeatedly: in the small organization, all.
const asked = 1_000

// app returns the id of an app, another one for each n, spread over the list.
func (s size) app(n int64) int64 { return 1 + scatter(n)%int64(s.apps) }

// checkpoint copies the WAL into the database. Otherwise the next measurement would pay for the previous one.
func (o grown) checkpoint(b *testing.B) {
	b.Helper()
	type copied struct{ busy, frames, done int }
	c, err := db.One(b.Context(), o.db, func(c *copied) []any { return []any{&c.busy, &c.frames, &c.done} }, `PRAGMA wal_checkpoint(RESTART)`)
	if err != nil || c.busy != 0 {
		b.Fatal(c, err)
	}
}

// walked is how many pages are read before the walk starts again: more than fit in memory.
const walked = 400

// walk follows next from the page at an offset.
func (o grown) walk(b *testing.B, path string, offset int) {
	b.Helper()
	start := o.next(b, fmt.Sprintf("%s?limit=100&offset=%d", path, offset))
	measure(b, func() {
		at := ""
		for i := range b.N {
			if i%walked == 0 {
				at = start
			}
			at = o.next(b, at)
		}
	})
}

// next reads a page and returns the url of the next one.
func (o grown) next(b *testing.B, path string) string {
	b.Helper()
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, o.request("GET", path, ""))
	if w.Code != http.StatusOK {
		b.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return strings.TrimPrefix(between(w.Body.String(), `"next":"`, `"`), baseURL+"/api/organizations/"+o.org.ID)
}

// measure calls run, which makes b.N requests, and reports the processor time of each.
func measure(b *testing.B, run func()) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	run()
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
}

// processorTime returns the processor time of this process so far, including the kernel's.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// scatter maps consecutive numbers to distinct ones spread over 32 bits.
func scatter(n int64) int64 { return n * 2654435761 & (1<<32 - 1) }

// inviteID returns the id of the n-th seeded invite.
func inviteID(n int64) string { return fmt.Sprintf("%08x-0000-7000-8000-%012x", scatter(n), n) }

// numbers begins a statement with the $3 numbers after $2; $3 may be 0.
const numbers = `WITH RECURSIVE s (n) AS (SELECT $2 + 1 WHERE $3 > 0 UNION ALL SELECT n + 1 FROM s WHERE n < $2 + $3) `

// change runs a statement and ignores the number of rows.
func change(ctx context.Context, tx *db.Tx, query string, args ...any) error {
	return db.Exec(ctx, tx, query, args...)
}

// seedApps makes n apps like those of W3, with the ids after a given one.
func seedApps(ctx context.Context, tx *db.Tx, r *rig, after, n int) error {
	return errors.Join(
		change(ctx, tx, numbers+`
			INSERT INTO plugins (id, organization_id, plugin_type, name, description, url, icon, config_schema, tag, latest_tag,
				is_global, capabilities, metrics, public_jobs, exports, created_at, updated_at)
			SELECT n, $1, 'local', 'App ' || n, 'Forwards events to a warehouse', '', 'https://cdn.example.com/icon.png',
				'[{"key":"apiKey","type":"string","secret":true},{"key":"host","type":"string"},{"key":"batch","type":"number"},{"key":"region","type":"choice"}]',
				'v1.0.0', '', FALSE, '{"jobs":["sync"],"methods":["onEvent"]}', '{"sent":"sum","latency":"max"}',
				'{"export":{"payload":{"from":{"type":"date"}}}}', FALSE, $4, $4
			FROM s`, r.org.ID, after, n, r.db.Now()),
		change(ctx, tx, `
			INSERT INTO plugin_counts (organization_id, shard, own, global, version) VALUES ($1, 0, $2, 0, 1)
			ON CONFLICT (organization_id, shard) DO UPDATE SET own = plugin_counts.own + $2`, r.org.ID, n))
}

// seedInvites makes n invites like those of W4, scattered among the others.
func seedInvites(ctx context.Context, tx *db.Tx, r *rig, after, n int) error {
	const scattered = `(n * 2654435761 & 4294967295)`
	now := r.db.Now()
	return errors.Join(
		change(ctx, tx, numbers+`
			INSERT INTO invites (id, organization_id, target_email, first_name, level, message, created_by, created_at, updated_at,
				expires_at, issue, mail_state)
			SELECT printf('%08x-0000-7000-8000-%012x', `+scattered+`, n), $1, 'seeded' || `+scattered+` || '@example.com', 'Pat', 1,
				'Welcome aboard, please join us.', $4, $5 - `+scattered+`, $5, $6, 1, 'none'
			FROM s`, r.org.ID, after, n, r.owner.User.ID, now, now.Add(72*time.Hour)),
		change(ctx, tx, `
			INSERT INTO invite_counts (organization_id, shard, pending, version) VALUES ($1, 0, $2, 1)
			ON CONFLICT (organization_id, shard) DO UPDATE SET pending = invite_counts.pending + $2, version = invite_counts.version + 1`,
			r.org.ID, n))
}

// seedActivity makes n entries, five about each app.
func seedActivity(ctx context.Context, tx *db.Tx, r *rig, organizationID string, after, n int) error {
	return errors.Join(
		change(ctx, tx, numbers+`
			INSERT INTO activity (organization_id, scope, item_id, activity, user_id, name, changes, request_id, created_at)
			SELECT $1, 'Plugin', CAST(1 + n / 5 AS TEXT), 'updated', $4, 'App', '[]', '', $5 FROM s`,
			organizationID, after, n, r.owner.User.ID, r.db.Now()),
		change(ctx, tx, `
			INSERT INTO activity_numbers (activity_id, organization_id, number, hash)
			SELECT id, organization_id, id, '' FROM activity WHERE organization_id = $1 AND id > (SELECT COALESCE(MAX(activity_id), 0) FROM activity_numbers)`,
			organizationID),
		change(ctx, tx, `
			INSERT INTO activity_counts (organization_id, scope, entries) VALUES ($1, 'Plugin', $2)
			ON CONFLICT (organization_id, scope) DO UPDATE SET entries = activity_counts.entries + $2`, organizationID, n))
}
