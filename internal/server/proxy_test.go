package server_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
)

// A base url that is https without a trusted proxy is told when the server starts.
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

// Each proxy that is documented says where a request comes from, whatever the client says. Caddy does by itself.
func TestProxiesNameTheClient(t *testing.T) {
	t.Parallel()
	guide := string(must[[]byte](t)(os.ReadFile("../../docs/operating.md")))
	for proxy, says := range map[string]string{
		"nginx": `(?m)^server {$(?s:.*)^    proxy_set_header X-Forwarded-For \$remote_addr;$`, "haproxy": `(?m)^defaults$(?s:.*)^    option forwardfor( |$)(?s:.*)^backend`,
	} {
		block := regexp.MustCompile("(?s)```" + proxy + "\n(.*?)```").FindString(guide)
		if !regexp.MustCompile(says).MatchString(block) {
			t.Errorf("%s: no %s in %s", proxy, says, block)
		}
	}
}

// Signing in with a key, or looking at an invite, counts against nobody's address.
func TestSigningInIsNotCounted(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	invited := must[client.Invite](t)(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@example.com"}))
	link := must[client.InviteLink](t)(s.LinkInvite(t.Context(), invited.ID))
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range 2 {
		for _, c := range []struct{ path, key string }{{"/console/session", s.key}, {strings.TrimPrefix(link.URL, s.URL), ""}} {
			form, method := url.Values{"key": {c.key}}.Encode(), http.MethodPost
			if c.key == "" {
				form, method = "", http.MethodGet
			}
			r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), method, s.URL+c.path, strings.NewReader(form)))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			got := must[*http.Response](t)(stay.Do(r)) //nolint:bodyclose // the next line does
			got.Body.Close()
			if left := got.Header.Get("RateLimit"); got.StatusCode >= 400 || !strings.Contains(left, "r=600;") {
				t.Errorf("%s: %d, %s", c.path, got.StatusCode, left)
			}
		}
	}
}
