package oidc_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/oidc"
	"foyer/internal/infra/oidc/oidctest"
)

// atGoogle sends what is meant for Google to another host.
type atGoogle struct{ host string }

// RoundTrip implements http.RoundTripper.
func (a atGoogle) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "accounts.google.com" {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = "http", a.host
	}
	return http.DefaultTransport.RoundTrip(r)
}

// However Google writes its name in a token, an account there is the same one.
func TestGoogleIsOneIssuer(t *testing.T) {
	t.Parallel()
	const google = "https://accounts.google.com"
	server := oidctest.Start(t)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	settings := server.Settings(redirect)
	settings.Issuer = google
	metadata := map[string]any{
		"issuer": google, "authorization_endpoint": google + "/authorize", "token_endpoint": google + "/token", "jwks_uri": google + "/keys",
	}
	for _, name := range []string{google, strings.TrimPrefix(google, "https://")} {
		server.Behave(oidctest.Behaviour{Discovery: metadata, Claims: map[string]any{"iss": name}})
		p := oidc.New(settings, time.Now)
		p.SetTransport(atGoogle{u.Host})
		if c, err := p.Redeem(t.Context(), codeBy(t, atGoogle{u.Host}, p, secrets), secrets); err != nil || c.Issuer != google {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
