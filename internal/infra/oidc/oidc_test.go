package oidc_test

import (
	"cmp"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/oidc"
	"foyer/internal/infra/oidc/oidctest"
)

const redirect = "https://foyer.example/console/session/oidc/callback"

var secrets = oidc.Secrets{State: "state", Nonce: "nonce", Verifier: strings.Repeat("v", 43)}

// code signs in at the provider and returns the code that the browser comes back with.
func code(t *testing.T, p *oidc.Provider, s oidc.Secrets) string {
	t.Helper()
	return codeBy(t, http.DefaultTransport, p, s)
}

// codeBy is code for a browser that reaches the provider by another transport.
func codeBy(t *testing.T, browser http.RoundTripper, p *oidc.Provider, s oidc.Secrets) string {
	t.Helper()
	address, err := p.URL(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := browser.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(back.String(), redirect+"?") || back.Query().Get("state") != s.State {
		t.Fatalf("%d, back to %s", res.StatusCode, back)
	}
	return back.Query().Get("code")
}

func TestRedeem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		oidctest.Behaviour
		want oidc.Claims // except for the issuer
	}{
		"RS256":                {want: oidc.Claims{Subject: "1", Email: "ada@x.example", EmailVerified: true}},
		"longest subject":      {oidctest.Behaviour{Claims: map[string]any{"sub": strings.Repeat("x", 255)}}, oidc.Claims{Subject: strings.Repeat("x", 255), Email: "ada@x.example", EmailVerified: true}},
		"ES256":                {oidctest.Behaviour{Algorithm: "ES256"}, oidc.Claims{Subject: "1", Email: "ada@x.example", EmailVerified: true}},
		"secret in the body":   {oidctest.Behaviour{PostSecret: true}, oidc.Claims{Subject: "1", Email: "ada@x.example", EmailVerified: true}},
		"unverified":           {oidctest.Behaviour{Claims: map[string]any{"email_verified": false}}, oidc.Claims{Subject: "1", Email: "ada@x.example"}},
		"verified as a text":   {oidctest.Behaviour{Claims: map[string]any{"email_verified": "true"}}, oidc.Claims{Subject: "1", Email: "ada@x.example"}},
		"no address":           {oidctest.Behaviour{Claims: map[string]any{"email": ""}}, oidc.Claims{Subject: "1", EmailVerified: true}},
		"address by userinfo":  {oidctest.Behaviour{Claims: map[string]any{"email": ""}, UserInfo: map[string]any{"sub": "1", "email": "a@x.example", "email_verified": true}}, oidc.Claims{Subject: "1", Email: "a@x.example", EmailVerified: true}},
		"word by userinfo":     {oidctest.Behaviour{Claims: map[string]any{"email_verified": nil}, UserInfo: map[string]any{"sub": "1", "email": "a@x.example", "email_verified": true}}, oidc.Claims{Subject: "1", Email: "a@x.example", EmailVerified: true}},
		"word without address": {oidctest.Behaviour{Claims: map[string]any{"email_verified": nil}, UserInfo: map[string]any{"sub": "1", "email_verified": true}}, oidc.Claims{Subject: "1", Email: "ada@x.example"}},
		"two addresses":        {oidctest.Behaviour{UserInfo: map[string]any{"sub": "1", "email": "a@x.example"}}, oidc.Claims{Subject: "1", Email: "ada@x.example", EmailVerified: true}},
		"audience in a list":   {oidctest.Behaviour{Claims: map[string]any{"aud": []string{"other", "foyer"}, "azp": "foyer"}}, oidc.Claims{Subject: "1", Email: "ada@x.example", EmailVerified: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := oidctest.Start(t)
			server.Behave(test.Behaviour)
			p := oidc.New(server.Settings(redirect), time.Now)
			test.want.Issuer = server.URL
			if got, err := p.Redeem(t.Context(), code(t, p, secrets), secrets); got != test.want || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestRedeemRefuses(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Minute).Unix()
	for name, test := range map[string]struct {
		oidctest.Behaviour
		kind fault.Kind
	}{
		"foreign audience":   {oidctest.Behaviour{Claims: map[string]any{"aud": "other"}}, fault.UpstreamUnavailable},
		"for another client": {oidctest.Behaviour{Claims: map[string]any{"aud": []string{"other", "foyer"}, "azp": "other"}}, fault.UpstreamUnavailable},
		"foreign issuer":     {oidctest.Behaviour{Claims: map[string]any{"iss": "https://other.example"}}, fault.UpstreamUnavailable},
		"expired":            {oidctest.Behaviour{Claims: map[string]any{"exp": past}}, fault.UpstreamUnavailable},
		"nobody":             {oidctest.Behaviour{Claims: map[string]any{"sub": ""}}, fault.UpstreamUnavailable},
		"a long subject":     {oidctest.Behaviour{Claims: map[string]any{"sub": strings.Repeat("x", 256)}}, fault.UpstreamUnavailable},
		"a NUL":              {oidctest.Behaviour{Claims: map[string]any{"sub": "a\x00b"}}, fault.UpstreamUnavailable},
		"not signed":         {oidctest.Behaviour{Algorithm: "none"}, fault.UpstreamUnavailable},
		"signed by a secret": {oidctest.Behaviour{Algorithm: "HS256"}, fault.UpstreamUnavailable},
		"no token endpoint":  {oidctest.Behaviour{Discovery: map[string]any{"token_endpoint": "http://127.0.0.1:1"}}, fault.UpstreamUnavailable},
		"unknown key":        {oidctest.Behaviour{HideKeys: true}, fault.UpstreamUnavailable},
		"a long key":         {oidctest.Behaviour{AlsoKeys: []any{map[string]string{"kty": "RSA", "kid": "long", "n": strings.Repeat("x", 4<<10), "e": "AQAB"}}}, fault.UpstreamUnavailable},
		"a private key":      {oidctest.Behaviour{AlsoKeys: []any{map[string]string{"kty": "EC", "alg": "ES256K", "kid": "private", "d": "AQAB"}}}, fault.UpstreamUnavailable},
		"another nonce":      {oidctest.Behaviour{Claims: map[string]any{"nonce": "other"}}, fault.Invalid},
		"no nonce":           {oidctest.Behaviour{Claims: map[string]any{"nonce": nil}}, fault.Invalid},
		"userinfo of another": {oidctest.Behaviour{
			Claims: map[string]any{"email": ""}, UserInfo: map[string]any{"sub": "2", "email": "a@x.example", "email_verified": true},
		}, fault.UpstreamUnavailable},
		"no userinfo": {oidctest.Behaviour{
			Claims: map[string]any{"email": ""}, Discovery: map[string]any{"userinfo_endpoint": "http://127.0.0.1:1"},
		}, fault.UpstreamUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := oidctest.Start(t)
			server.Behave(test.Behaviour)
			p := oidc.New(server.Settings(redirect), time.Now)
			if got, err := p.Redeem(t.Context(), code(t, p, secrets), secrets); !fault.Is(err, test.kind) || got != (oidc.Claims{}) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestCodeIsTakenOnce(t *testing.T) {
	t.Parallel()
	server := oidctest.Start(t)
	p := oidc.New(server.Settings(redirect), time.Now)
	once := code(t, p, secrets)
	if _, err := p.Redeem(t.Context(), once, secrets); err != nil {
		t.Fatal(err)
	}
	other := secrets
	other.Verifier = strings.Repeat("w", 43)
	for name, try := range map[string]func() error{
		"again":            func() error { _, err := p.Redeem(t.Context(), once, secrets); return err },
		"made up":          func() error { _, err := p.Redeem(t.Context(), "code", secrets); return err },
		"another verifier": func() error { _, err := p.Redeem(t.Context(), code(t, p, secrets), other); return err },
	} {
		if err := try(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The provider's metadata is cached and refreshed; an unknown key is requested immediately.
func TestDiscoveryIsKept(t *testing.T) {
	t.Parallel()
	server, now := oidctest.Start(t), time.Now()
	p := oidc.New(server.Settings(redirect), func() time.Time { return now })
	redeem := func() {
		t.Helper()
		if _, err := p.Redeem(t.Context(), code(t, p, secrets), secrets); err != nil {
			t.Error(err)
		}
	}
	const discovery = "/.well-known/openid-configuration"
	redeem()
	redeem()
	if d, k := server.Asked(discovery), server.Asked("/keys"); d != 1 || k != 1 {
		t.Errorf("asked %d times about itself, %d times for keys", d, k)
	}
	server.Behave(oidctest.Behaviour{Key: "second"})
	redeem()
	if k := server.Asked("/keys"); k != 2 {
		t.Errorf("asked %d times for keys", k)
	}
	now = now.Add(time.Hour)
	server.Behave(oidctest.Behaviour{Key: "second"})
	redeem()
	if d := server.Asked(discovery); d != 2 {
		t.Errorf("asked %d times about itself", d)
	}
	now = now.Add(-24 * time.Hour)
	if _, err := p.URL(t.Context(), secrets); err != nil || server.Asked(discovery) != 3 {
		t.Errorf("after the clock stepped back: %v, asked %d times about itself", err, server.Asked(discovery))
	}
	now = now.Add(time.Hour)
	server.Behave(oidctest.Behaviour{Status: http.StatusInternalServerError})
	if _, err := p.URL(t.Context(), secrets); err != nil || server.Asked(discovery) != 4 {
		t.Errorf("what was known holds no longer: %v", err)
	}
}

// Cached metadata is also used while the provider does not respond: time is left for the other requests.
func TestDiscoveryIsSilent(t *testing.T) {
	t.Parallel()
	server, now := oidctest.Start(t), time.Now()
	p := oidc.New(server.Settings(redirect), func() time.Time { return now })
	back := code(t, p, secrets)
	now = now.Add(time.Hour)
	server.Behave(oidctest.Behaviour{Silent: "/.well-known/openid-configuration"})
	if _, err := p.Redeem(t.Context(), back, secrets); err != nil {
		t.Error(err)
	}
}

func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	elsewhere := oidctest.Start(t)
	for name, b := range map[string]oidctest.Behaviour{
		"failing":       {Status: http.StatusInternalServerError},
		"redirecting":   {Status: http.StatusTemporaryRedirect, Location: elsewhere.URL + "/moved"},
		"long":          {Discovery: map[string]any{"x": strings.Repeat("x", 64<<10)}},
		"unsafe tokens": {Discovery: map[string]any{"token_endpoint": "http://login.example/token"}},
		"unsafe users":  {Discovery: map[string]any{"userinfo_endpoint": "http://login.example/userinfo"}},
		"unsafe keys":   {Discovery: map[string]any{"jwks_uri": "http://192.0.2.1/keys"}},
		"unsafe page":   {Discovery: map[string]any{"authorization_endpoint": "http://login.example/authorize"}},
		"no page":       {Discovery: map[string]any{"authorization_endpoint": "https:authorize"}},
	} {
		server := oidctest.Start(t)
		server.Behave(b)
		p := oidc.New(server.Settings(redirect), time.Now)
		if _, err := p.URL(t.Context(), secrets); !fault.Is(err, fault.UpstreamUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		server.Behave(oidctest.Behaviour{})
		if _, err := p.URL(t.Context(), secrets); err != nil {
			t.Errorf("%s, then up again: %v", name, err)
		}
		b.Status = cmp.Or(b.Status, http.StatusInternalServerError)
		server.Behave(b)
		if _, err := p.Redeem(t.Context(), "code", secrets); !fault.Is(err, fault.UpstreamUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := elsewhere.Asked("/moved"); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// The provider is dialed directly. Not parallel: the test changes the environment of the process.
func TestNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") }))
	defer proxy.Close()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	p := oidc.New(oidc.Settings{Issuer: "https://no.such.invalid"}, time.Now)
	if _, err := p.URL(t.Context(), secrets); !fault.Is(err, fault.UpstreamUnavailable) {
		t.Errorf("got %v", err)
	}
}

// A provider may publish more keys than we read: the log says that, not that the keys are invalid JSON.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	server := oidctest.Start(t)
	server.Behave(oidctest.Behaviour{Discovery: map[string]any{"x": strings.Repeat("x", 64<<10)}})
	_, err := oidc.New(server.Settings(redirect), time.Now).URL(t.Context(), secrets)
	failed, ok := errors.AsType[*fault.Error](err)
	if !ok || failed.Kind != fault.UpstreamUnavailable || !strings.HasSuffix(failed.Cause.Error(), "200 OK, with more than 65536 bytes") {
		t.Errorf("%v", err)
	}
}

// Only the beginning of a provider's error page is logged.
func TestLongErrorPage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<p>No such realm\n"+strings.Repeat("x", 50<<10), http.StatusNotFound)
	}))
	defer server.Close()
	_, err := oidc.New(oidc.Settings{Issuer: server.URL}, time.Now).URL(t.Context(), secrets)
	if why := fault.Of(err)[0].Cause.Error(); !strings.Contains(why, "404 Not Found: <p>No such realm x") || len(why) > 600 {
		t.Errorf("%d bytes: %.100s", len(why), why)
	}
}
