package server_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
)

// at returns a browser at another server that has the current cookies of v.
func (v *visitor) at(s *running) *visitor {
	v.Helper()
	jar := must(cookiejar.New(nil))(v.T)
	jar.SetCookies(must(url.Parse(s.URL))(v.T), v.http.Jar.Cookies(must(url.Parse(v.url))(v.T)))
	return &visitor{T: v.T, url: s.URL, http: http.Client{Jar: jar}}
}

// A session, a key with the sessions it started, or a membership that ends on one server is refused there at once and
// soon on every other server, even with a cookie from before. TestKeysOnTwoServers and TestSessionOfAKey, which set the
// clock, check that this takes at most two seconds.
func TestEndsOnEveryServer(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, dbURL string) {
		cfg := config.Config{Database: dbURL, Secret: "a secret that both servers have been given"}
		here := start(t, cfg)
		cfg.Bootstrap.Key = here.key
		there := start(t, cfg)
		page := func(v *visitor, path string) func() int { return func() int { return v.get(path).status } }
		api := func(s *running, key, path string) func() int {
			return func() int {
				return browse(t, "GET", s.URL+path, http.Header{"Authorization": {"Bearer " + key}}).status
			}
		}
		refused := func(what string, status int, at, elsewhere func() int) {
			t.Helper()
			if got := at(); got != status {
				t.Errorf("%s: %d here, want %d", what, got, status)
			}
			until(t, func() bool { return elsewhere() == status })
		}
		hold := func(all ...func() int) {
			t.Helper()
			for _, ask := range all {
				until(t, func() bool { return ask() == 200 })
			}
		}

		v := visit(t, here, here.key)
		kept, keptThere := v.at(here), v.at(there)
		hold(page(kept, "/console/keys"), page(keptThere, "/console/keys"))
		v.post("/console/session/end")
		refused("an ended session", 401, page(kept, "/console/keys"), page(keptThere, "/console/keys"))

		owner := must(client.New(here.URL, here.key))(t)
		made := must(owner.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"*"}}))(t)
		v = visit(t, here, made.APIKey)
		kept, keptThere = v.at(here), v.at(there)
		const self = "/api/users/@me"
		hold(page(kept, "/console/keys"), page(keptThere, "/console/keys"), api(here, made.APIKey, self), api(there, made.APIKey, self))
		check(t, owner.DeleteKey(t.Context(), made.ID))
		refused("a revoked key", 401, api(here, made.APIKey, self), api(there, made.APIKey, self))
		refused("the session of a revoked key", 401, page(kept, "/console/keys"), page(keptThere, "/console/keys"))

		ada := join(t, here)
		v = visit(t, here, ada)
		kept, keptThere = v.at(here), v.at(there)
		id := must(here.Get(t.Context()))(t).ID
		members, membersPage := "/api/organizations/"+id+"/members", "/console/"+id+"/members"
		hold(page(kept, membersPage), page(keptThere, membersPage), api(here, ada, members), api(there, ada, members))
		check(t, here.RemoveMember(t.Context(), secondMember(t, here).ID))
		refused("a removed member", 401, api(here, ada, members), api(there, ada, members))
		refused("a removed member in the console", 401, page(kept, membersPage), page(keptThere, membersPage))
	})
}
