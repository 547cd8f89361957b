package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// All of 10,000 page views within 80 seconds, from many addresses behind a proxy, are counted, and no visitor's data is
// stored. An invalid report does not count, and gets the same answer.
func TestTenThousandViews(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, err := db.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		now := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
		d.Now = func() time.Time { return now }
		r := newRig(t, d)
		id, app := r.site("shop"), r.built("null")
		r.placed(id, `{"app_id":`+app+`}`)
		send := r.visitors(sites + r.siteToken(id) + "/beacon")
		const views, failures = 10_000, 300
		for i := range views {
			now = now.Add(8 * time.Millisecond)
			report := `{"revision":2,"apps":[{"id":` + app + `,"version":1,"state":"running","ms":80}],"errors":[]}`
			if i%(views/failures) == 0 && i < failures*(views/failures) {
				report = `{"apps":[{"id":` + app + `,"version":1,"state":"failed","ms":80}],"errors":[{"id":` + app +
					`,"version":1,"name":"TypeError","message":"GET https://shop.example/private-path or /private-path failed for ada@private.example, 203.0.113.9, Mozilla/5.0 private-agent","line":1,"column":2}]}`
			}
			send(i, report)
		}
		counted := r.health(app)
		if !strings.Contains(counted, `"loads":10000,"running":9700,"failed":300,`) || !strings.Contains(counted, `"count":300,`) {
			t.Errorf("health: %s", counted)
		}
		for i, junk := range []string{
			"", "null", "[]", "x", "\x00\xff", `{"apps":1}`, `{"apps":[1]}`, `{"apps":[{"id":` + app + `,"version":99,"state":"running"}]}`,
			`{"apps":[{"id":999,"version":1,"state":"running"}]}`, `{"apps":[{"id":` + app + `,"version":1,"state":"odd"}]}`,
			`{"apps":[{"id":"` + app + `","version":1,"state":"running"}]}`, `{"apps":[{"id":` + app + `,"version":1,"state":"running"}]}` + strings.Repeat(" ", 9000), strings.Repeat("[", 8000),
		} {
			send(i, junk)
		}
		if after := r.health(app); after != counted {
			t.Errorf("after junk: %s", after)
		}
		wantNoVisitors(t, url)
		if got := r.found(apps + "?state=failing"); len(got) != 1 {
			t.Errorf("failing: %q", got)
		}
		now = now.Add(25 * time.Hour)
		if got := r.found(apps + "?state=failing"); got != nil {
			t.Errorf("a day later: %q", got)
		}
	})
}

// visitors returns a function that sends the reports of many visitors' pages through a proxy.
func (r *rig) visitors(path string) func(i int, body string) {
	proxied := *r.api
	proxied.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	handler := proxied.Handler(func(*wire.Mux) {})
	return func(i int, body string) {
		r.t.Helper()
		req := httptest.NewRequestWithContext(r.t.Context(), http.MethodPost, path, strings.NewReader(body))
		req.RemoteAddr = "127.0.0.1:1000"
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i%250))
		req.Header.Set("User-Agent", "private-agent")
		req.Header.Set("Cookie", "id=private-cookie")
		req.Header.Set("Referer", "https://shop.example/private-path")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != http.StatusNoContent {
			r.t.Fatalf("%.50q: %d %s", body, w.Code, w.Body)
		}
	}
}

// health flushes the counts and returns the health of an app.
func (r *rig) health(app string) string {
	r.t.Helper()
	if err := r.api.Sites.Manifests.Counts.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r.send(r.key, "GET", apps+app+"/health", "").body
}

// wantNoVisitors searches the files of an SQLite database for visitors' data. The other engine runs the same
// statements.
func wantNoVisitors(t *testing.T, url string) {
	t.Helper()
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok {
		return
	}
	for _, name := range []string{path, path + "-wal"} {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, private := range []string{"203.0.113.", "private"} {
			if bytes.Contains(file, []byte(private)) {
				t.Errorf("%s has %q", name, private)
			}
		}
	}
}
