package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db/dbtest"
)

// benchApp is an app with all its fields. Its answer is about 670 bytes long.
const benchApp = `{"plugin_type":"local","name":"App %d","description":"Forwards events to a warehouse","icon":"https://cdn.example.com/icon.png",
"config_schema":[{"key":"apiKey","type":"string","secret":true},{"key":"host","type":"string"},{"key":"batch","type":"number"},{"key":"region","type":"choice"}],
"tag":"v1.0.0","is_global":false,"capabilities":{"jobs":["sync"],"methods":["onEvent"]},"metrics":{"sent":"sum","latency":"max"},
"public_jobs":{"export":{"payload":{"from":{"type":"date"}}}}}`

const benchInvite = `{"target_email":"person%d@example.com","first_name":"Pat","level":1,"message":"Welcome aboard, please join us."}`

// BenchmarkRequests answers the requests of docs/performance.md without the network, for an organization with 1,000
// apps and 1,000 invites.
func BenchmarkRequests(b *testing.B) {
	for engine, open := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "foyer.db") },
		"postgres": func() string { return dbtest.Postgres(b) },
	} {
		b.Run(engine, func(b *testing.B) {
			r := newRig(b, dbtest.Open(b, open()))
			h := r.api.Observe(r.api.Handler(func(*wire.Mux) {}), func(*http.Request, api.Outcome) {})
			for i := range 1000 {
				r.app(fmt.Sprintf(benchApp, i))
				r.invite(fmt.Sprintf("kept%d@example.com", i))
			}
			benchmarkAll(b, r, h)
		})
	}
}

func benchmarkAll(b *testing.B, r *rig, h http.Handler) {
	b.Helper()
	var serial atomic.Int64
	invited := make(chan string, 1<<20)
	for _, l := range loads(func(n int64) int64 { return 1 + n%1000 }, func() string { return <-invited }) {
		b.Run(l.name, func(b *testing.B) {
			if l.status == 204 {
				for len(invited) < b.N {
					invited <- r.invite(fmt.Sprintf("deleted%d@example.com", serial.Add(1)))
				}
			}
			b.ReportAllocs()
			b.SetParallelism(8)
			b.ResetTimer()
			l.run(b, r, h, &serial)
		})
	}
}

// load is a kind of request.
type load struct {
	name   string
	status int                                       // of the answer
	make   func(n int64) (method, path, body string) // n differs for each
}

// loads are the requests of docs/performance.md: app chooses the apps to read and change, invited the invites to
// delete.
func loads(app func(n int64) int64, invited func() string) []load {
	return []load{
		{"W1-get-app", 200, func(n int64) (string, string, string) { return "GET", fmt.Sprintf("%s%d", apps, app(n)), "" }},
		{"W2-get-100-apps", 200, func(int64) (string, string, string) { return "GET", apps + "?limit=100", "" }},
		{"W3-post-app", 201, func(n int64) (string, string, string) { return "POST", apps, fmt.Sprintf(benchApp, n) }},
		{"W4-post-invite", 201, func(n int64) (string, string, string) { return "POST", invites, fmt.Sprintf(benchInvite, n) }},
		{"W5-get-100-invites", 200, func(int64) (string, string, string) { return "GET", invites + "?limit=100", "" }},
		{"W6-patch-app", 200, func(n int64) (string, string, string) {
			return "PATCH", fmt.Sprintf("%s%d", apps, app(n)), fmt.Sprintf(`{"description":"Changed, number %d"}`, n)
		}},
		{"W7-delete-invite", 204, func(int64) (string, string, string) { return "DELETE", invites + invited(), "" }},
	}
}

// run makes b.N requests, several at a time.
func (l load) run(b *testing.B, r *rig, h http.Handler, serial *atomic.Int64) {
	b.Helper()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			method, path, body := l.make(serial.Add(1))
			w := discard{header: http.Header{}}
			h.ServeHTTP(&w, r.request(method, path, body))
			if w.status != l.status {
				b.Errorf("%s %s: %d", method, path, w.status)
			}
		}
	})
}

// request returns a request of the owner to the first organization, for a handler.
func (r *rig) request(method, path, body string) *http.Request {
	req := httptest.NewRequest(method, "/api/organizations/"+r.org.ID+path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	return req
}

// discard is an answer that nobody reads.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return io.Discard.Write(b) }
