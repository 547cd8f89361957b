package api_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db/dbtest"
)

// TestBudget checks the cost of the requests of docs/performance.md in statements and allocations, which do not depend
// on the machine. A change that makes a request more expensive must say so here.
func TestBudget(t *testing.T) { // not parallel: it counts the allocations of the whole process
	for engine, url := range []string{"sqlite:" + filepath.Join(t.TempDir(), "foyer.db"), dbtest.Postgres(t)} {
		t.Run([]string{"sqlite", "postgres"}[engine], func(t *testing.T) {
			r := newRig(t, dbtest.Open(t, url))
			now := r.db.Now()
			r.db.Now = func() time.Time { return now }
			r.api.RateLimit = 0
			r.api.InFlight = inflight.New(96 << 20)
			h := r.api.Observe(r.api.Handler(func(*wire.Mux) {}), func(*http.Request, api.Outcome) {})
			for i := range 100 {
				r.app(fmt.Sprintf(benchApp, i))
				r.invite(fmt.Sprintf("kept%d@example.com", i))
			}
			const runs = 20
			var deleted []string
			for i := range runs + 2 {
				deleted = append(deleted, r.invite(fmt.Sprintf("deleted%d@example.com", i)))
			}
			serial := 0
			for _, c := range []struct {
				name        string
				status      int
				statements  int64      // exactly
				allocations [2]float64 // at most, on SQLite and on PostgreSQL
				request     func() (method, path, body string)
			}{
				{"W1 GET an app", 200, 1, [2]float64{56, 90}, func() (string, string, string) { return "GET", apps + "7", "" }},
				{"W2 GET 100 apps", 200, 1, [2]float64{47, 64}, func() (string, string, string) { return "GET", apps + "?limit=100", "" }},
				{"W3 POST an app", 201, 4, [2]float64{108, 208}, func() (string, string, string) { return "POST", apps, fmt.Sprintf(benchApp, serial) }},
				{"W4 POST an invite", 201, 6, [2]float64{125, 252}, func() (string, string, string) { return "POST", invites, fmt.Sprintf(benchInvite, serial) }},
				{"W5 GET 100 invites", 200, 1, [2]float64{66, 84}, func() (string, string, string) { return "GET", invites + "?limit=100", "" }},
				{"W6 PATCH an app", 200, 5, [2]float64{127, 247}, func() (string, string, string) {
					return "PATCH", apps + "7", fmt.Sprintf(`{"description":"Changed, number %d"}`, serial)
				}},
				{"W7 DELETE an invite", 204, 5, [2]float64{102, 215}, func() (string, string, string) { return "DELETE", invites + deleted[serial-1], "" }},
			} {
				serial = 0
				one := func() {
					serial++
					method, path, body := c.request()
					w := discard{header: http.Header{}}
					if h.ServeHTTP(&w, r.request(method, path, body)); w.status != c.status {
						t.Fatalf("%s: %d", c.name, w.status)
					}
				}
				one()
				before := dbtest.Statements(r.db)
				allocations := testing.AllocsPerRun(runs, one)
				const requests = runs + 1 // one to warm up
				if statements := dbtest.Statements(r.db) - before; statements != requests*c.statements {
					t.Errorf("%s: %d statements in %d requests, not %d in each", c.name, statements, requests, c.statements)
				}
				if !raceEnabled && allocations > c.allocations[engine] {
					t.Errorf("%s: %.0f allocations, at most %.0f", c.name, allocations, c.allocations[engine])
				}
			}
		})
	}
}
