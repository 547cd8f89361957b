package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db/dbtest"
)

// mostMemory bounds the memory of a server with the default limit, whatever its clients do.
const mostMemory = 300 << 20

// slowly opens a connection that reads little at a time, and sends a request with a key.
func (s *running) slowly(t *testing.T, method, path string, more ...string) net.Conn {
	t.Helper()
	conn := must((&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://")))(t)
	t.Cleanup(func() { conn.Close() })
	check(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	must(fmt.Fprintf(conn, "%s /api/organizations/@current/pipeline_frontend_apps%s HTTP/1.1\r\nHost: foyer\r\nAuthorization: Bearer %s\r\n%s\r\n",
		method, path, s.key, strings.Join(more, "")))(t)
	return conn
}

// statusOf reads only the beginning of an answer, with its status.
func statusOf(t *testing.T, conn net.Conn) int {
	t.Helper()
	line := make([]byte, len("HTTP/1.1 200"))
	must(io.ReadFull(conn, line))(t)
	status := 0
	must(fmt.Sscanf(string(line), "HTTP/1.1 %d", &status))(t)
	return status
}

// wantBounded fails unless some answers were 200, all others 503, and the server's memory stayed small.
func wantBounded(t *testing.T, pid int, answered map[int]int) {
	t.Helper()
	peak := peakMemory(t, pid)
	if answered[http.StatusOK] == 0 || answered[http.StatusServiceUnavailable] == 0 || len(answered) != 2 {
		t.Errorf("answers by status: %v", answered)
	}
	if peak > mostMemory && !raceEnabled {
		t.Errorf("the server took %d MB", peak>>20)
	}
	t.Logf("%v, %d MB", answered, peak>>20)
}

// largeApp makes an app with 10 MiB of source, and returns its path.
func (s *running) largeApp(t *testing.T) string {
	t.Helper()
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Large"}))(t)
	for _, half := range []string{"a", "b"} {
		files := map[string]*string{}
		for i := range 5 {
			files[fmt.Sprint(half, i, ".txt")] = new(strings.Repeat(half, 1<<20))
		}
		must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: files}))(t)
	}
	return "/" + itoa(app.ID)
}

// The server keeps a bounded amount for clients that read slowly, and tells them when to retry; other users are served.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	s, pid := startProcess(t)
	path := s.largeApp(t) + "/source"
	for i := range 16 {
		schema := fmt.Sprintf(`[%q]`, strings.Repeat("x", 1_000_000))
		must(s.CreateApp(t.Context(), client.AppDraft{Name: fmt.Sprint("App ", i), ConfigSchema: []byte(schema)}))(t)
	}
	other := s.as(t, join(t, s))
	answered := map[int]int{}
	var conns []net.Conn
	for i := range 100 {
		conns = append(conns, s.slowly(t, http.MethodGet, []string{path, "?limit=100"}[i%2]))
	}
	for _, conn := range conns {
		answered[statusOf(t, conn)]++
	}
	wantBounded(t, pid, answered)
	for last := http.StatusOK; last == http.StatusOK; { // until there is no room for another one
		conn := s.slowly(t, http.MethodGet, path)
		last = statusOf(t, conn)
		conns = append(conns, conn)
	}
	busy := s.send(t, http.MethodGet, path, "")
	if busy.status != http.StatusServiceUnavailable || !strings.Contains(busy.body, `"code":"busy"`) || busy.header.Get("Retry-After") == "" {
		t.Errorf("%d %.300s", busy.status, busy.body)
	}
	if page := visit(t, s, s.key).get("/console/@current/apps" + path); page.status != http.StatusServiceUnavailable {
		t.Errorf("a page of the console: %d", page.status)
	}
	if got := other.send(t, http.MethodGet, "?limit=1", ""); got.status != http.StatusOK {
		t.Errorf("another user: %d %.300s", got.status, got.body)
	}
	for _, conn := range conns {
		conn.Close()
	}
	for s.send(t, http.MethodGet, path, "").status != http.StatusOK { // until the server notices that they have disconnected
		continue
	}
}

// The overview reads no more entries than it shows: there is room for it beside another large answer to the same user.
func TestOverviewOfLargeEntries(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, InFlightLimit: 40 << 20})
		large := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Large"}))(t)
		for i := range 5 {
			file := map[string]*string{fmt.Sprint(i, ".txt"): new(strings.Repeat("a", 1<<20))}
			must(s.UpdateSource(t.Context(), large.ID, client.SourcePatch{Source: file}))(t)
		}
		for i := range 201 {
			schema := fmt.Sprintf(`[%q]`, strings.Repeat(string(rune('a'+i%26)), 50_000))
			must(s.UpdateApp(t.Context(), large.ID, client.AppPatch{ConfigSchema: []byte(schema)}))(t)
		}
		if status := statusOf(t, s.slowly(t, http.MethodGet, "/"+itoa(large.ID)+"/source")); status != http.StatusOK {
			t.Fatal(status)
		}
		v := visit(t, s, s.key)
		v.want(200, "Large", v.get("/console/@current"))
	})
}

// The server keeps a bounded amount for clients that hold back the ends of their bodies.
func TestHeldBodies(t *testing.T) {
	t.Parallel()
	s, pid := startProcess(t)
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Large"}))(t)
	body := `{"source":{"a.txt":"` + strings.Repeat("a", wire.MaxSourceBody-100) + `"}}`
	answered := map[int]int{}
	var conns []net.Conn
	for range mostMemory/wire.MaxSourceBody + 1 { // more than the server may take, and all sent within the minute that a body has
		conn := s.slowly(t, http.MethodPatch, "/"+itoa(app.ID)+"/update_source", "Content-Type: application/json\r\n", fmt.Sprintf("Content-Length: %d\r\n", len(body)))
		must(io.WriteString(conn, body[:len(body)-1]))(t)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		must(io.WriteString(conn, body[len(body)-1:]))(t)
		status := statusOf(t, conn)
		if status == http.StatusBadRequest { // a file may have 1 MiB, so the whole body was read
			status = http.StatusOK
		}
		answered[status]++
	}
	wantBounded(t, pid, answered)
}

// withhold opens connections from an address, each with a form whose last byte does not come, until the server refuses
// another one from that address.
func (s *running) withhold(t *testing.T, from, path string) {
	t.Helper()
	form := "key=" + strings.Repeat("x", 40_000)
	for {
		conn := must((&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://")))(t)
		t.Cleanup(func() { conn.Close() })
		const head = "POST %s HTTP/1.1\r\nHost: foyer\r\nX-Forwarded-For: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s"
		must(fmt.Fprintf(conn, head, path, from, len(form)+1, form))(t)
		switch got := visit(t, s, "").send(http.MethodPost, path, "a=b", "X-Forwarded-For", from); got.status {
		case http.StatusServiceUnavailable:
			return
		case http.StatusTooManyRequests:
			t.Fatalf("%s: what is withheld is not counted", path)
		}
	}
}

// However much is sent without a key and held back, the server still serves requests with a key, pages with apps, and
// sign-ins.
func TestHeldBodiesWithoutAKey(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, InFlightLimit: 16 << 20, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
		sites := "/sites/" + must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t).Token
		s.withhold(t, "192.0.2.1", "/console/session")
		s.withhold(t, "192.0.2.2", "/invite/abc")
		visit(t, s, s.keyFor(t, "*")) // no key is cached any more
		for _, path := range []string{"/readyz", sites + "/manifest.json", sites + "/loader.js", "/console/session"} {
			if got := browse(t, http.MethodGet, s.URL+path, nil); got.status >= http.StatusInternalServerError {
				t.Errorf("%s: %d %.300s", path, got.status, got.body)
			}
		}
	})
}
