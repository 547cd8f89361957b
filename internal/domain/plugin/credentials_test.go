package plugin

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/upstream/upstreamtest"
)

// If an app's token is changed at the git host, the app is upgraded with the new one.
func TestSetCredentials(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		var token atomic.Value
		token.Store("0ld")
		host.Intercept(func(w http.ResponseWriter, req *http.Request) bool {
			if _, password, _ := req.BasicAuth(); password == token.Load() {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		with := func(token string) string { return strings.Replace(repo.URL, "://", "://ci:"+token+"@", 1) }
		p := r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(with("0ld"))})
		repo.Tag(r, "v2.0.0", "refs/heads/main")
		token.Store("n3w")
		if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{}); !fault.Is(err, fault.UpstreamUnavailable) {
			r.Errorf("with the old token: %v", err)
		}
		given, err := r.SetCredentials(r.Context(), r.caller, p.ID, with("n3w")+".git/")
		if err != nil || given.URL != repo.URL || given.Revision <= p.Revision {
			r.Fatalf("got %+v, %v", given, err)
		}
		if again, err := r.SetCredentials(r.Context(), r.caller, p.ID, with("n3w")); err != nil || again.Revision != given.Revision {
			r.Errorf("the same again: %+v, %v", again, err)
		}
		entries, err := r.Activity(r.Context(), r.caller, "", "", page.Page{Limit: 1})
		if e := entries.Items[0]; err != nil || entries.Count != 2 || e.Verb != activity.Updated || e.User.Email != "owner@acme.example" || e.Changes != `[{"action":"changed","field":"credentials","before":null,"after":"replaced"}]` {
			r.Errorf("%+v, %v", entries, err)
		}
		if p, err = r.Upgrade(r.Context(), r.caller, p.ID, Move{}); err != nil || p.Tag != "v2.0.0" {
			r.Errorf("with the new token: %+v, %v", p, err)
		}
	})
}

func TestSetCredentialsRefused(t *testing.T) {
	each(t, func(r rig) {
		repo := r.publish(upstreamtest.NewHost(r))
		p, local := r.install(repo), r.create(named("local"))
		member, stranger := r.caller, r.caller
		member.Level = access.Member
		stranger.Organization.ID = "01890000-0000-7000-8000-000000000002"
		for name, try := range map[string]struct {
			caller access.Caller
			id     int64
			url    string
			want   fault.Kind
		}{
			"another place":        {r.caller, p.ID, "https://ci:t0ken@git.example/app", fault.Invalid},
			"no url":               {r.caller, p.ID, "", fault.Invalid},
			"not installed":        {r.caller, local.ID, repo.URL, fault.Invalid},
			"no app":               {r.caller, 99, repo.URL, fault.NotFound},
			"a member":             {member, p.ID, repo.URL, fault.Denied},
			"another organization": {stranger, p.ID, repo.URL, fault.NotFound},
		} {
			_, err := r.SetCredentials(r.Context(), try.caller, try.id, try.url)
			if !fault.Is(err, try.want) || strings.Contains(err.Error(), "t0ken") {
				r.Errorf("%s: %v", name, err)
			}
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.Revision != p.Revision {
			r.Errorf("stored %+v, %v; want %+v", got, err, p)
		}
	})
}
