package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream/upstreamtest"
)

// The console does not offer what a user may not do, and the link to another organization leads to a page that they may
// see there.
func TestConsoleOffersWhatOneMay(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	cfg.Catalog = filepath.Join(cfg.DataDir, "catalog.json")
	check(t, os.WriteFile(cfg.Catalog, []byte(`[{"name": "Listed", "url": "https://git.example/listed"}]`), 0o600))
	s := start(t, cfg)
	app := "/console/@current/apps/" + itoa(furnish(t, s))
	site := "/console/@current/sites/" + itoa(must(s.ListSites(t.Context(), client.SiteFilter{}, client.Range{}))(t).Results[0].ID)
	owner, member := visit(t, s, s.key), visit(t, s, join(t, s))
	for path, button := range map[string]string{
		"/console/@current/apps/new": `value="catalog"`, "/console/@current/apps/new?way=git": `value="git"`, "/console/@current/apps/new?way=own": `value="source"`,
		app + "/source/upload": `value="save"`,
		site:                   `value="switch"`, site + "/history": `value="restore"`,
	} {
		owner.want(200, button, owner.get(path))
		got := member.get(path)
		member.lacks(200, "<button class=\"small\" name=\"do\"", got)
		member.lacks(200, button, got)
	}
	owner.want(200, `name="up"`, owner.get(site))
	member.lacks(200, `name="up"`, member.get(site))
	member.want(200, "You may not put apps on sites.", member.get(app+"/place"))
	files := client.FileEdits{}
	for i := range 20 {
		files["n"+itoa(int64(i))+".md"] = new("x")
	}
	must(s.UpdateSource(t.Context(), 1, client.SourcePatch{Source: files}))(t)
	member.want(200, `/source?file=a%20b%26c.txt">All 22 files`, member.get(app))
	member.want(200, "Choose a file.", member.get(app+"/source"))
	member.lacks(200, "Add a file", member.get(app+"/source"))
	d := openDomain(t, cfg)
	there := must(d.Organizations.Create(t.Context(), "Elsewhere"))(t)
	grace := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[0].User
	must(d.Invites.AddMember(t.Context(), there.ID, grace.Email, access.Member))(t)
	both := visit(t, s, makeKey(t, d, grace.Email))
	for page, want := range map[string]string{
		"/apps/new": "/apps", "/apps/catalog?name=Listed&url=https://git.example/listed": "/apps", "/audit": "/activity", "/keys": "", "/webhooks": "", "/sites": "/sites",
	} {
		both.want(200, `href="/console/`+there.ID+want+`"`, both.get("/console/@current"+page))
	}
}

// A session by a key without the scope * does not offer levels that need this scope; without the scope to change members,
// it offers no change of them.
func TestConsoleOffersLevels(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		join(t, s)
		ada := secondMember(t, s)
		role := membersPage + "/" + ada.ID + "/role"
		wantLevels := func(v *visitor, page, levels string) {
			t.Helper()
			var offered []string
			for _, found := range regexp.MustCompile(`(?:name="level"|<option) value="(\d+)"`).FindAllStringSubmatch(v.get(page).body, -1) {
				offered = append(offered, found[1])
			}
			if got := strings.Join(offered, " "); got != levels {
				t.Errorf("%s offers the levels %s, want %s", page, got, levels)
			}
		}
		all, some := visit(t, s, s.key), visit(t, s, s.keyFor(t, "organization_member:write"))
		wantLevels(all, invitingPage, "1 8 15")
		wantLevels(all, role, "1 8 15")
		wantLevels(some, invitingPage, "1")
		some.lacks(200, ada.ID+"/role", some.get(membersPage))
		must(s.SetLevel(t.Context(), ada.ID, client.LevelAdmin))(t)
		wantLevels(some, role, "1 8")
		some.want(200, ada.ID+"/role", some.get(membersPage))
		owner := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[0]
		reader := visit(t, s, s.keyFor(t, "organization_member:read"))
		for _, id := range []string{ada.ID, owner.ID} {
			reader.want(403, "the scope organization_member:write", reader.get(membersPage+"/"+id+"/role"))
			reader.want(403, "the scope organization_member:write", reader.get(membersPage+"/"+id+"/remove"))
		}
	})
}

// An upgrade is offered only to users who may make it, neither to plain members nor to organizations that only see a
// shared app. These may put it on a site.
func TestConsoleOffersUpgrades(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url, UpstreamAllow: upstreamtest.Allow()}
		s := start(t, cfg)
		repo, changed := publish(t, host, "offered"+filepath.Base(t.Name()), "v1.0.0"), files("v1.0.0")
		changed["site.ts"] += "\n"
		repo.Tag(t, "v1.1.0", repo.Commit(t, changed))
		app := must(s.CreateApp(t.Context(), custom(repo, "v1.0.0")))(t)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{IsGlobal: new(true)}))(t)
		_, elsewhere := joinElsewhere(t, cfg, "zoe@x.example")
		for who, key := range map[string]string{"an owner": s.key, "a member": join(t, s), "an owner elsewhere": elsewhere} {
			v, may := visit(t, s, key), key == s.key
			home, apps := v.get("/console/@current"), v.get("/console/@current/apps")
			v.want(200, "newest: v1.1.0", apps)
			if needs, led := strings.Contains(home.body, "1 app can be upgraded"), strings.Contains(apps.body, `/upgrade">`); needs != may || led != may {
				t.Errorf("%s: told to upgrade: %t, led there: %t", who, needs, led)
			}
			if may {
				review := v.post("/console/@current/apps?state=update", "do", "review", "id", itoa(app.ID)+" v1.1.0")
				v.want(200, `?state=update">Cancel</a>`, review)
				v.want(200, ">1 file</a>", review)
				v.want(200, `/apps?ordering=name">Show all</a>`, v.get("/console/@current/apps?search=banner&ordering=name"))
			}
			page := v.get("/console/@current/apps/" + itoa(app.ID)).body
			if places := strings.Contains(page, "It is on no site yet"); places == (who == "a member") {
				t.Errorf("%s is offered to put it on a site: %t", who, places)
			}
		}
	})
}

// An organization that may no longer share apps is offered to take back one that it has shared, and to share no other.
func TestConsoleOffersToTakeBackASharedApp(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url}
		s := start(t, cfg)
		page := "/console/@current/apps/" + itoa(must(s.CreateApp(t.Context(), client.AppDraft{Name: "Shared", IsGlobal: true}))(t).ID)
		check(t, suspend(t.Context(), cfg, access.InstallApps))
		v, box := visit(t, s, s.key), `name="is_global" checked> Share it`
		v.want(200, box, v.get(page))
		v.want(200, "Shared is no longer shared", v.post(page, "do", "describe", "name", "Shared", "was.name", "Shared", "was.is_global", "on"))
		v.lacks(200, "> Share it", v.get(page))
	})
}

// A form that is not offered to a key, such as one that was opened before another sign-in, is refused for its scopes.
func TestConsoleRefusesForScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{Name: "Banner"}))(t)
		for _, c := range []struct {
			status             int
			scope, lacks, page string
			form               []string
		}{
			{400, "plugin:read", "organization_member:write", invitingPage, []string{"do", "preview", "level", "1", "addresses", "ada@x.example"}},
			{403, "organization_member:read", "plugin:read", "/console/@current/apps", []string{"do", "check", "app", itoa(app.ID)}},
		} {
			v := visit(t, s, s.keyFor(t, c.scope))
			v.want(c.status, "This needs a key with the scope "+c.lacks, v.post(c.page, c.form...))
		}
	})
}

// The activity offers only kinds of entries that the key may see, and all of these.
func TestConsoleOffersKindsOfEntries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		const audit = "/console/@current/audit"
		for scopes, want := range map[string]string{
			"*":                                    "Plugin Site OrganizationInvite OrganizationMembership Key Organization Session Webhook",
			"organization_member:read plugin:read": "Plugin Site OrganizationInvite OrganizationMembership",
			"organization_member:write":            "OrganizationInvite OrganizationMembership",
		} {
			v := visit(t, s, s.keyFor(t, strings.Fields(scopes)...))
			choices, _, _ := strings.Cut(v.get(audit).body, `name="activity"`)
			var offered []string
			for _, found := range regexp.MustCompile(`<option value="(\w+)"`).FindAllStringSubmatch(choices, -1) {
				offered = append(offered, found[1])
				v.want(200, "", v.get(audit+"?scope="+found[1]))
			}
			if got := strings.Join(offered, " "); got != want {
				t.Errorf("%s: offers %s, want %s", scopes, got, want)
			}
		}
	})
}

// The link on a refused page leads to a page that is not refused.
func TestConsoleLeadsOnToWhatIsOffered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		for scope, paths := range map[string][]string{
			"plugin:read": {"/webhooks/1", "/members/" + nobody + "/role"}, "organization_member:read": {"/sites/1", "/apps/1"},
		} {
			v := visit(t, s, s.keyFor(t, scope))
			for _, path := range paths {
				refused := v.get("/console/@current" + path)
				v.want(403, ">Go to the overview</a>", refused)
				way := regexp.MustCompile(`href="([^"]*)"[^>]*>Go to the overview`).FindStringSubmatch(refused.body)
				if way == nil {
					t.Fatalf("%s leads nowhere:\n%s", path, refused.body)
				}
				v.want(200, "Overview", v.get(way[1]))
			}
		}
	})
}

// The page of an organization that does not exist offers the same as other pages.
func TestConsoleOffersWhereNothingIs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		whole := must(client.New(s.URL, s.key))(t)
		organization := must(s.Get(t.Context()))(t).ID
		bound := must(whole.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"*"}, OrganizationID: organization}))(t).APIKey
		offered := regexp.MustCompile(`href="/console/(profile|keys|invitations|sessions)"`)
		for _, key := range []string{s.key, bound} {
			v := visit(t, s, key)
			found := v.get("/console")
			lost := v.get("/console/nowhere")
			v.want(404, "Page not found", lost)
			if got, want := offered.FindAllString(lost.body, -1), offered.FindAllString(found.body, -1); !slices.Equal(got, want) {
				t.Errorf("offers %q, want %q", got, want)
			}
		}
	})
}
