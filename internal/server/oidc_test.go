package server_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/oidc/oidctest"
)

// withProvider starts a server on a database with an identity provider; ada@x.example owns it.
func withProvider(t *testing.T, url string) (*running, *oidctest.Provider) {
	t.Helper()
	p := oidctest.Start(t)
	s := p.Settings("")
	return start(t, config.Config{
		Database: url, Bootstrap: config.Bootstrap{Email: "ada@x.example"},
		OIDC: config.OIDC{Issuer: s.Issuer, ClientID: s.ClientID, ClientSecret: s.ClientSecret, Name: "Acme & Söhne", Scopes: s.Scopes},
	}), p
}

func TestSignInByProvider(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, p := withProvider(t, url)
		v := visit(t, s, "")
		page := v.get("/console/keys?offset=0")
		v.want(401, "Sign in with Acme & Söhne", page)
		v.want(401, `href="/console/session/oidc?then=%2fconsole%2fkeys%3foffset%3d0"`, page)
		v.want(200, "Your keys", v.get("/console/session/oidc?then=%2Fconsole%2Fkeys%3Foffset%3D0"))
		v.want(200, "identity provider", v.get("/console/sessions"))
		v.want(200, "overview", v.get("/console/session/oidc?then=https://evil.example/console/"))
		v.want(401, "Sign in", v.post("/console/session/end"))
		p.Behave(oidctest.Behaviour{Claims: map[string]any{"email": "changed@x.example", "email_verified": false}})
		v.want(200, "overview", v.get("/console/session/oidc"))
		members := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results
		if len(members) != 1 || members[0].User.Email != "ada@x.example" || !members[0].User.IsEmailVerified {
			t.Errorf("%+v", members)
		}
	})
}

// A provider that speaks for some domains signs in no owner of another address.
func TestProviderSpeaksForItsDomains(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	given := p.Settings("")
	s := start(t, config.Config{
		Bootstrap: config.Bootstrap{Email: "ada@x.example"},
		OIDC:      config.OIDC{Issuer: given.Issuer, ClientID: given.ClientID, ClientSecret: given.ClientSecret, Scopes: given.Scopes, Domains: []string{"acme.example"}},
	})
	v := visit(t, s, "")
	v.want(403, "does not vouch for addresses like ada@x.example", v.get("/console/session/oidc"))
	v.want(401, "Sign in", v.get("/console"))
}

// A user who is refused gets a page that helps, and nothing is stored.
func TestSignInByProviderRefused(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, p := withProvider(t, url)
		d := dbtest.Open(t, url)
		for name, test := range map[string]struct {
			oidctest.Behaviour
			status int
			text   string
		}{
			"unverified":       {oidctest.Behaviour{Claims: map[string]any{"email_verified": false}}, 403, "has not verified that ada@x.example is your address"},
			"verified in text": {oidctest.Behaviour{Claims: map[string]any{"email_verified": "true"}}, 403, "has not verified"},
			"a stranger":       {oidctest.Behaviour{Claims: map[string]any{"email": "eve@x.example", "sub": "2"}}, 403, "ask an admin of your organization"},
			"foreign audience": {oidctest.Behaviour{Claims: map[string]any{"aud": "other"}}, 502, "answers wrongly"},
			"expired":          {oidctest.Behaviour{Claims: map[string]any{"exp": 1}}, 502, "answers wrongly"},
			"not signed":       {oidctest.Behaviour{Algorithm: "none"}, 502, "answers wrongly"},
			"unknown key":      {oidctest.Behaviour{Key: "new", HideKeys: true}, 502, "answers wrongly"},
			"another nonce":    {oidctest.Behaviour{Claims: map[string]any{"nonce": "x"}}, 400, "another attempt"},
			"said no":          {oidctest.Behaviour{Error: "access_denied"}, 400, "did not let you in"},
			"hostile error":    {oidctest.Behaviour{Error: "<script>"}, 400, "without an answer"},
		} {
			p.Behave(test.Behaviour)
			v := visit(t, s, "")
			got := v.get("/console/session/oidc")
			v.want(test.status, test.text, got)
			v.want(test.status, "<title>That did not work ", got)
			v.want(test.status, `href="/console">Go to the sign-in page`, got)
			v.want(401, "Sign in with", v.get("/console"))
			for _, table := range []string{"sessions", "identities"} {
				if n := must(db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM `+table))(t); n != 0 {
					t.Errorf("%s: %d %s", name, n, table)
				}
			}
		}
		if n := must(db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users`))(t); n != 1 {
			t.Errorf("%d users", n)
		}
		if strings.Contains(s.log.String(), "the secret of the client") {
			t.Error("the log has the client's secret")
		}
	})
}

func TestSignInByProviderReplayed(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, dbURL string) {
		s, p := withProvider(t, dbURL)
		v := visit(t, s, "")
		callback := ""
		v.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasSuffix(r.URL.Path, "/callback") {
				callback = r.URL.RequestURI()
				return http.ErrUseLastResponse
			}
			return nil
		}
		here := must(url.Parse(s.URL))(t)
		v.get("/console/session/oidc")
		cookies := v.http.Jar.Cookies(here)
		stranger := visit(t, s, "")
		stranger.want(400, "does not belong to a sign-in that this browser began", stranger.get(callback))
		v.http.CheckRedirect = nil
		swapped := strings.Replace(callback, "state=", "state=x", 1)
		v.want(400, "begin again", v.get(swapped))
		jar := func() {
			v.http.Jar = must(cookiejar.New(nil))(t)
			v.http.Jar.SetCookies(here, cookies)
		}
		jar()
		v.want(200, "overview", v.get(callback))
		jar()
		v.want(400, "or it was already used", v.get(callback))
		other := visit(t, start(t, config.Config{
			Database: dbURL, OIDC: config.OIDC{Issuer: p.URL, ClientID: "foyer", ClientSecret: "the secret of the client", Scopes: []string{"openid"}},
		}), "")
		if strings.HasPrefix(dbURL, "postgres:") { // a second server with the same secret
			other.http.Jar.SetCookies(must(url.Parse(other.url))(t), cookies)
			other.want(400, "or it was already used", other.get(callback))
		}
	})
}

// Of two tabs at the provider, the one that began last signs in, even if the other one comes back first.
func TestSignInByProviderInTwoTabs(t *testing.T) {
	t.Parallel()
	s, _ := withProvider(t, "")
	v := visit(t, s, "")
	var callbacks []string
	v.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/callback") {
			callbacks = append(callbacks, r.URL.RequestURI())
			return http.ErrUseLastResponse
		}
		return nil
	}
	v.get("/console/session/oidc")
	v.get("/console/session/oidc")
	v.http.CheckRedirect = nil
	v.want(400, "does not belong to a sign-in", v.get(callbacks[0]))
	v.want(200, "overview", v.get(callbacks[1]))
}

// A provider that is down stops neither the start nor other ways to sign in.
func TestSignInWhileTheProviderIsDown(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	p.Behave(oidctest.Behaviour{Status: http.StatusServiceUnavailable})
	s := start(t, config.Config{OIDC: config.OIDC{Issuer: p.URL, ClientID: "foyer", ClientSecret: "x", Scopes: []string{"openid"}}})
	v := visit(t, s, "")
	v.want(502, "try again later, or sign in another way", v.get("/console/session/oidc"))
	v.want(200, "overview", v.post("/console/session", "key", s.key))
	none := visit(t, start(t, config.Config{}), "")
	none.want(403, "no identity provider", none.get("/console/session/oidc"))
	none.want(400, "begin again", none.get("/console/session/oidc/callback?code=x&state=y"))
}

// A sign-in by a slow provider times out with a page that helps, and stores nothing.
func TestSignInWhileTheProviderIsSlow(t *testing.T) {
	t.Parallel()
	s, p := withProvider(t, "")
	p.Behave(oidctest.Behaviour{Silent: "/token"})
	v := visit(t, s, "")
	slow := v.get("/console/session/oidc")
	v.want(504, "does not answer in time: try again later, or sign in another way", slow)
	v.want(504, `href="/console">Go to the sign-in page`, slow)
	v.want(401, "Sign in with", v.get("/console"))
	p.Behave(oidctest.Behaviour{})
	v.want(200, "overview", v.get("/console/session/oidc"))
	if n := strings.Count(v.get("/console/sessions").body, "identity provider"); n != 1 {
		t.Errorf("%d sessions by the provider", n)
	}
}
