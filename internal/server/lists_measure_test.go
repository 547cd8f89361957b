package server_test

import (
	"flag"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/invite"
	"foyer/internal/face/api"
	"foyer/internal/infra/db/dbtest"
)

var lists = flag.Bool("lists", false, "TestLists compares the lists of a large organization with those of a small one")

// fill makes apps, invites and members. One in rare apps is disabled and is on its own site.
func fill(t *testing.T, s *running, apps, rare, invites, members int) {
	t.Helper()
	inParallel(t, apps, func(i int) error {
		app, err := s.CreateApp(t.Context(), client.AppDraft{Name: fmt.Sprintf("App %d", i), Description: "A banner on each page", ConfigSchema: []byte(`[{"key":"color","type":"string","site":true}]`)})
		if err != nil || i%rare != 0 {
			return err
		}
		if _, err := s.DisableApp(t.Context(), app.ID, "It leaks."); err != nil {
			return err
		}
		site, err := s.CreateSite(t.Context(), client.SitePatch{Name: new(fmt.Sprintf("Site %d", i))})
		if err == nil {
			_, err = s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID})
		}
		return err
	})
	inParallel(t, invites/invite.MaxBulk, func(i int) error {
		drafts := make([]client.InviteDraft, invite.MaxBulk)
		for k := range drafts {
			drafts[k] = client.InviteDraft{TargetEmail: fmt.Sprintf("guest%d.%d@x.example", i, k), FirstName: "Pat"}
		}
		_, err := s.CreateInvites(t.Context(), drafts)
		return err
	})
	anybody := must(client.New(s.URL, ""))(t)
	inParallel(t, members, func(i int) error {
		made, err := s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: fmt.Sprintf("member%d.%d@x.example", members, i)})
		if err != nil {
			return err
		}
		link, err := s.LinkInvite(t.Context(), made.ID)
		if err == nil {
			_, err = anybody.AcceptInvitation(t.Context(), path.Base(link.URL), client.Names{FirstName: new("Pat")})
		}
		return err
	})
}

// inParallel calls do n times, at most eight at once.
func inParallel(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(8)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	check(t, all.Wait())
}

// listPaths returns the paths of all lists of an organization, in the API and in the console. For lists of an object,
// it uses one that exists.
func listPaths(t *testing.T, s *running) []string {
	t.Helper()
	sites := must(s.ListSites(t.Context(), client.SiteFilter{}, client.Range{}))(t)
	apps := must(s.ListApps(t.Context(), client.AppFilter{Site: sites.Results[0].ID}, client.Range{}))(t)
	var all []string
	for _, route := range (&api.API{}).Routes() {
		if below, ok := strings.CutPrefix(route.Path, "/api/organizations/{organization_id}"); ok && route.Method == "GET" && !strings.Contains(below, "{") {
			all = append(all, "/api/organizations/@current"+below)
		}
	}
	const apiApps = "/api/organizations/@current/pipeline_frontend_apps"
	all = append(all, apiApps+"?search=banner", apiApps+"?state=disabled", apiApps+"?ordering=-updated_at", apiApps+"?offset=50",
		"/api/organizations/@current/invites?status=any", "/api/organizations/@current/invites?search=guest", "/api/organizations/@current/members?search=member")
	for _, page := range []string{
		"", "/apps", "/apps?state=disabled", "/apps?search=banner", "/apps?ordering=name", "/apps/new", "/apps/unused", "/sites", "/members", "/members?search=member", "/invites",
		"/invites?status=any&search=guest", "/keys", "/audit", "/audit?scope=Plugin", "/activity", "/webhooks", "/search?q=banner", "/search?q=guest",
		"/apps/" + itoa(apps.Results[0].ID), "/apps/" + itoa(apps.Results[0].ID) + "/place", "/sites/" + itoa(sites.Results[0].ID),
	} {
		all = append(all, "/console/@current"+page)
	}
	return all
}

// TestLists requests each list of a large organization and of a small one in turn, each time after a change in both. It
// compares the fastest times, since other work of the machine only adds to them.
func TestLists(t *testing.T) { // not parallel: it measures
	if !*lists {
		t.Skip("ask for it with -lists")
	}
	dbtest.EachURL(t, func(t *testing.T, database string) {
		cfg := config.Config{Database: database, DataDir: t.TempDir(), Secret: "a secret that both have", InviteTTL: time.Hour}
		large := start(t, cfg)
		small := large.as(t, ownerElsewhere(t, cfg))
		began := time.Now()
		fill(t, small, 200, 2, 100, 100) // full pages, as in the large one
		fill(t, large, 10_000, 20, 10_000, 1_000)
		t.Logf("filled in %s", time.Since(began).Round(time.Second))
		dbtest.Vacuum(t, dbtest.Open(t, database))
		compare(t, small, large)
	})
}

// looking matches the answers of the API whose count reads all matches, and the page of the console that requests five
// of them. They are not compared.
var looking = regexp.MustCompile(`^/api/.*(search|/unused|/exports|status=any|/overview)|^/console/@current/search`)

func compare(t *testing.T, small, large *running) {
	t.Helper()
	const rounds = 9
	of := [2]*running{small, large}
	var visitors [2]*visitor
	var paths [2][]string
	var took [2][]time.Duration
	for i, s := range of {
		visitors[i], paths[i] = visit(t, s, s.key), listPaths(t, s)
		took[i] = slices.Repeat([]time.Duration{time.Hour}, len(paths[i]))
	}
	for range rounds {
		for _, s := range of {
			app := must(s.CreateApp(t.Context(), client.AppDraft{Name: "Changes"}))(t)
			invited := must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "changes@x.example"}))(t)
			if s.DeleteApp(t.Context(), app.ID) != nil || s.DeleteInvite(t.Context(), invited.ID) != nil {
				t.Fatal("they cannot be deleted")
			}
		}
		for k := range paths[0] {
			for i, v := range visitors {
				began := time.Now()
				got := v.send("GET", paths[i][k], "", "Authorization", "Bearer "+of[i].key)
				took[i][k] = min(took[i][k], time.Since(began))
				if got.status != 200 {
					t.Fatalf("%s: %d %s", paths[i][k], got.status, got.body)
				}
			}
		}
	}
	for k, path := range paths[0] {
		ratio := float64(took[1][k]) / float64(took[0][k])
		t.Logf("%5.2f  %8s  %8s  %s", ratio, took[0][k].Round(time.Microsecond), took[1][k].Round(time.Microsecond), path)
		if ratio > 2 && !looking.MatchString(path) {
			t.Errorf("%s takes %.1f times as long", path, ratio)
		}
	}
}
