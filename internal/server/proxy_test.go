package server_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
)

// If the base url is https and there is no trusted proxy, the server warns when it starts.
func TestNoTrustedProxyIsTold(t *testing.T) {
	t.Parallel()
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, c := range []struct {
		cfg  config.Config
		told bool
	}{
		{config.Config{BaseURL: "https://foyer.example"}, true},
		{config.Config{BaseURL: "https://foyer.example", TrustedProxies: loopback}, false},
		{config.Config{}, false},
	} {
		if got := strings.Contains(start(t, c.cfg).log.String(), "FOYER_TRUSTED_PROXIES"); got != c.told {
			t.Errorf("%+v: told %v", c.cfg, got)
		}
	}
}

// The activity has the address of the browser, not that of the proxy or of the server, whose console asks its own API.
func TestAddressesOfBrowsers(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		s := start(t, config.Config{Database: database, ActivityAddresses: true, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		v := visit(t, s, s.key)
		for _, from := range []string{"203.0.113.9", "2001:db8::9"} {
			form := url.Values{"do": {"set"}, "name": {"of " + from}, "was.name": {"My organization"}}
			v.want(200, "of "+from, v.send(http.MethodPost, "/console/@current/settings", form.Encode(), "Sec-Fetch-Site", "same-origin", "X-Forwarded-For", from))
			all := must(s.ListAudit(t.Context(), client.AuditFilter{Scope: "Organization"}, client.Range{Limit: 1}))(t)
			if got := all.Results[0].Address; got != from {
				t.Errorf("got %q, want %s", got, from)
			}
		}
	})
}

// Each documented proxy sends the client's real address, whatever the client sends, and waits for slow answers. Caddy
// does both by default.
func TestDocumentedProxies(t *testing.T) {
	t.Parallel()
	guide := string(must(os.ReadFile("../../docs/operating.md"))(t))
	for proxy, says := range map[string][]string{
		"nginx": {
			`(?m)^server {$(?s:.*)^    proxy_set_header X-Forwarded-For \$remote_addr;$`,
			`(?m)^server {$(?s:.*)^    proxy_read_timeout 300s;`,
		},
		"haproxy": {
			`(?m)^defaults$(?s:.*)^    option forwardfor( |$)(?s:.*)^backend`,
			`(?m)^defaults$(?s:.*)^    timeout server +300s$(?s:.*)^backend`,
		},
	} {
		block := regexp.MustCompile("(?s)```" + proxy + "\n(.*?)```").FindString(guide)
		for _, want := range says {
			if !regexp.MustCompile(want).MatchString(block) {
				t.Errorf("%s: no %s in %s", proxy, want, block)
			}
		}
	}
}

// Events come immediately through nginx with the documented configuration, although it buffers answers.
func TestEventsThroughProxy(t *testing.T) {
	t.Parallel()
	s, tls := start(t, config.Config{}), httptest.NewTLSServer(nil)
	defer tls.Close()
	pair := tls.TLS.Certificates[0]
	key := must(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	files := filepath.Join(t.TempDir(), "foyer.")
	for end, block := range map[string]pem.Block{"pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key": {Type: "PRIVATE KEY", Bytes: key}} {
		check(t, os.WriteFile(files+end, pem.EncodeToMemory(&block), 0o600))
	}
	at, _, _ := startNginx(t, strings.NewReplacer("/var/log/nginx/foyer.log", "access.log", "listen 443", "listen ADDRESS", "/etc/ssl/foyer.", files,
		"127.0.0.1:8000", strings.TrimPrefix(s.URL, "http://")).Replace(documentedNginx(t, "operating.md", "map")))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	events := strings.Replace(at, "http", "https", 1) + "/api/organizations/@current/events"
	r := must(http.NewRequestWithContext(ctx, http.MethodGet, events, nil))(t)
	r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Accept": {"text/event-stream"}}
	got, err := tls.Client().Do(r)
	check(t, err)
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	for lines.Scan() && lines.Text() != "event: site.created" {
		if lines.Text() == ": events" {
			must(s.CreateSite(ctx, client.SitePatch{Name: new("Shop")}))(t)
		}
	}
	if lines.Text() != "event: site.created" {
		t.Errorf("%d: %q, %v", got.StatusCode, lines.Text(), lines.Err())
	}
}

// plainNginx returns the documented configuration without TLS, with another upstream.
func plainNginx(t *testing.T, upstream string) string {
	t.Helper()
	text := regexp.MustCompile(`(?m)^ *(ssl_|server_name).*$`).ReplaceAllString(documentedNginx(t, "operating.md", "map"), "")
	text = regexp.MustCompile(`(?s)upstream foyer {.*?\n}\n`).ReplaceAllLiteralString(text, upstream)
	return strings.NewReplacer("/var/log/nginx/foyer.log", "access.log", "listen 443 ssl", "listen ADDRESS").Replace(text)
}

// With the documented configuration nginx passes ETags on as they are, even if it compresses answers otherwise: If-Match
// takes no weak one.
func TestETagsThroughProxy(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	at, _, _ := startNginx(t, "gzip on; gzip_types application/json;"+plainNginx(t, "upstream foyer { server "+strings.TrimPrefix(s.URL, "http://")+"; }"))
	var tags []string
	for _, server := range []string{s.URL, at} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/organizations/@current", nil))(t)
		r.Header = http.Header{"Authorization": {"Bearer " + s.key}, "Accept-Encoding": {"gzip"}}
		got := must(http.DefaultClient.Do(r))(t) //nolint:bodyclose // the next line does
		got.Body.Close()
		tags = append(tags, got.Header.Get("Etag"))
	}
	if tags[0] == "" || tags[0] != tags[1] {
		t.Errorf("foyer's ETag is %s, nginx's %s", tags[0], tags[1])
	}
}

// While a server is off, pages and invites wait for another one as long as nginx is told to wait for a connection, not
// for a minute.
func TestServerThatIsOffBehindProxy(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	upstream, inServer, _ := strings.Cut(documentedNginx(t, "operating.md", "upstream"), "# in server:")
	upstream = strings.NewReplacer("10.0.0.1:8000", strings.TrimPrefix(s.URL, "http://"), "10.0.0.2:8000", silentAddress(t)).Replace(upstream)
	at, _, _ := startNginx(t, strings.Replace(plainNginx(t, upstream), "    location / {", inServer+"    location / {", 1))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 2 { // nginx asks the servers in turn
		for _, path := range []string{"/sites/x/manifest.json", "/invite/x", "/docs"} {
			r := must(http.NewRequestWithContext(ctx, http.MethodGet, at+path, nil))(t)
			got := must(http.DefaultClient.Do(r))(t) //nolint:bodyclose // the next line does
			got.Body.Close()
			if got.StatusCode >= 500 {
				t.Errorf("%s: %d", path, got.StatusCode)
			}
		}
	}
}

// silentAddress returns an address where nothing responds to those who want to connect, as of a machine that is off: its
// queue is full.
func silentAddress(t *testing.T) string {
	t.Helper()
	fd := must(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))(t)
	t.Cleanup(func() { syscall.Close(fd) })
	check(t, errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)))
	at := fmt.Sprintf("127.0.0.1:%d", must(syscall.Getsockname(fd))(t).(*syscall.SockaddrInet4).Port)
	for {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", at)
		if err != nil {
			return at
		}
		t.Cleanup(func() { conn.Close() })
	}
}

// Signing in with a key and looking at an invite do not count against the address.
func TestSigningInIsNotCounted(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	link := s.handed(t, "ada@example.com")
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range 2 {
		for _, c := range []struct{ path, key string }{{"/console/session", s.key}, {link, ""}} {
			form, method := url.Values{"key": {c.key}}.Encode(), http.MethodPost
			if c.key == "" {
				form, method = "", http.MethodGet
			}
			r := must(http.NewRequestWithContext(t.Context(), method, s.URL+c.path, strings.NewReader(form)))(t)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			got := must(stay.Do(r))(t) //nolint:bodyclose // the next line does
			got.Body.Close()
			if left := got.Header.Get("RateLimit"); got.StatusCode >= 400 || !strings.Contains(left, "r=600;") {
				t.Errorf("%s: %d, %s", c.path, got.StatusCode, left)
			}
		}
	}
}
