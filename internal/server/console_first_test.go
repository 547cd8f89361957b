package server_test

import (
	"bytes"
	"net/http"
	"regexp"
	"testing"

	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/server"
)

// firstStart runs a server on a new database, for which it makes everything, and returns what it has said.
func firstStart(t *testing.T, demo bool) (s *running, said string) {
	t.Helper()
	var out bytes.Buffer
	cfg := onDisk(t)
	cfg.Demo = demo
	s = run(t, server.Server{Config: cfg, Stdout: &out}, func() string {
		said = out.String()
		return regexp.MustCompile(`foy_\w{43}`).FindString(said)
	})
	return s, said
}

// A step is done once a user has done it; what the first start has made does not count.
func TestConsoleFirstSteps(t *testing.T) {
	t.Parallel()
	s, _ := firstStart(t, true)
	v := visit(t, s, s.key)
	const home = "/console/@current"
	for _, step := range []struct {
		what string
		do   func() shown
	}{
		{"Say who you are, since invites name you", func() shown {
			return v.post(invitingPage, "do", "introduce", "email", "grace@acme.example", "first_name", "Grace", "last_name", "", "organization_name", "Acme")
		}},
		{"Add an app of your own", func() shown { return v.post(home+"/apps/new", "do", "source", "name", "Banner") }},
		{"Add a site of your own, whose pages run apps", func() shown { return v.post(home+"/sites", "do", "create", "name", "Shop") }},
		{"Invite somebody", func() shown {
			return v.post(invitingPage, "do", "invite", "level", "1", "addresses", "ada@x.example")
		}},
		{"Create a key for a program", func() shown { return v.post("/console/keys", "do", "make", "scopes", "*") }},
	} {
		v.want(200, ">"+step.what+"</a>", v.get(home))
		if done := step.do(); done.status != http.StatusOK {
			t.Fatalf("%s: %d %s", step.what, done.status, done.body)
		}
		v.lacks(200, ">"+step.what+"</a>", v.get(home))
	}
	v.lacks(200, "First steps", v.get(home))
}

// If an organization may only read apps, no step asks to make one.
func TestConsoleFirstStepsWithoutApps(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url}
		s := start(t, cfg)
		check(t, suspend(t.Context(), cfg, access.ReadApps))
		v := visit(t, s, s.key)
		page := v.get("/console/@current")
		v.want(200, ">Invite somebody</a>", page)
		v.lacks(200, "Add an app", page)
		v.lacks(200, "Add a site", page)
	})
}

// A count of one has the singular.
func TestOverviewCountsInWords(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		v.want(200, "<strong>1</strong> Member<", v.get("/console/@current"))
		v.want(200, "<strong>0</strong> Apps<", v.get("/console/@current"))
	})
}
