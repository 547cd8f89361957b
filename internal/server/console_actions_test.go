package server_test

import (
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/upstream/upstreamtest"
	"foyer/internal/server"
)

// An installed app whose config_schema was changed has no edited files.
func TestConsoleAppWithSchema(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, host, "schema"+filepath.Base(t.Name()), "v1.0.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "v1.0.0")))(t)
		must(s.UpdateApp(t.Context(), app.ID, client.AppPatch{ConfigSchema: client.Null()}))(t)
		v := visit(t, s, s.key)
		shown := v.get("/console/@current/apps/" + itoa(app.ID))
		v.want(200, "the newest known", shown)
		v.lacks(200, "edited here", shown)
	})
}

// The buttons on the page of an app have the effects that the API shows.
func TestConsoleApp(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, host, "console"+filepath.Base(t.Name()), "v1.0.0", "v1.1.0")
		v := visit(t, s, s.key)
		v.want(200, "Banner is installed.", v.post("/console/@current/apps/new", "do", "git", "url", repo.URL, "tag", "v1.0.0"))
		app := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t).Results[0]
		page := "/console/@current/apps/" + itoa(app.ID)
		at := func(tag string) {
			t.Helper()
			if got := must(s.GetApp(t.Context(), app.ID))(t); got.Tag != tag {
				t.Errorf("at %s, want %s", got.Tag, tag)
			}
		}
		at("v1.0.0")
		v.want(200, "Review the upgrade to v1.1.0", v.get(page))
		review := v.get(page + "/upgrade")
		v.want(200, "Upgrade to v1.1.0", review)
		v.want(200, `class="added"`, review)
		unknown := v.get(page + "/upgrade?tag=none")
		v.want(400, `name="tag" aria-invalid="true" aria-describedby="faults" value="none"`, unknown)
		v.want(400, "<li>Tag: ", unknown)
		at("v1.0.0")
		v.want(200, "newest: v1.1.0", v.get("/console/@current/apps"))
		v.want(200, "is the newest tag of", v.post(page, "do", "check"))
		v.want(200, "the newest known", v.post(page+"/upgrade", "do", "upgrade", "tag", "v1.1.0"))
		at("v1.1.0")
		repo.Tag(t, "v1.1.0", repo.Commit(t, files("moved")))
		v.want(400, "<li>Tag: It points to another commit than when it was installed. To accept", v.get(page+"/upgrade?tag=v1.1.0"))
		v.want(400, "It points to another commit", v.post(page+"/upgrade", "do", "upgrade", "tag", "v1.1.0"))
		v.want(200, "is now at v1.1.0.", v.post(page+"/upgrade", "do", "upgrade", "tag", "v1.1.0", "accept_changed", "on"))
		text := "export const x: number = ;"
		must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": &text}}))(t)
		broken := v.get(page)
		v.want(200, "Files were edited here since", broken)
		v.want(200, "of an earlier version, since a file does not compile", broken)
		v.want(200, `<td class="sign">+</td><td class="text"><code>export const x: number = ;`, v.get(page+"/compare?version=4&against=1"))
		v.want(200, "is now at version 1.", v.post(page+"/versions/1", "do", "return"))
		at("v1.0.0")
		v.want(200, "No version before it is kept", v.get(page+"/versions/1"))
		v.want(200, "Changes since version 1", v.get(page+"/versions/2"))
		v.want(200, "Change to this version", v.get(page+"/versions/2"))
		v.want(200, "Changes since version 2", v.get(page+"/versions/3"))
		two := v.get(page + "/compare?version=1&against=3")
		v.want(200, "From version 3 to 1", two)
		v.want(200, `<option value="3" selected>3, v1.1.0</option>`, two)
		v.want(200, `<option value="1" selected>1, v1.0.0, current</option>`, two)
		v.lacks(200, `value="withdraw"`, two)
		for _, query := range []string{"", "?version=1", "?against=1", "?version=1&against=x", "?version=99&against=1"} {
			v.want(404, "", v.get(page+"/compare"+query))
		}
		v.want(200, "The app is now called Banner. Banner is shared", v.post(page, "do", "describe", "name", "Banner", "is_global", "on"))
		if !must(s.GetApp(t.Context(), app.ID))(t).IsGlobal {
			t.Error("not shared")
		}
		v.want(200, "is deleted.", v.post(page+"/source", "do", "save", "delete", "site.ts", "filename", "site.ts", "sha256", v.opened(page+"/source?file=site.ts")))
		if files := must(s.GetSource(t.Context(), app.ID))(t).Source; files["site.ts"] != "" {
			t.Error(files)
		}
		v.want(404, "no file of this name", v.get(page+"/source?file=site.ts"))
		v.want(200, "is deleted.", v.post(page, "do", "delete"))
		if _, err := s.GetApp(t.Context(), app.ID); !client.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// Whoever names an app reads that its plugin.json may give it another name again.
func TestConsoleNameAndManifest(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner", Source: map[string]string{"plugin.json": `{"name": "Banner"}`}}))(t)
	text := "export {}"
	must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: client.FileEdits{"site.ts": &text}}))(t)
	v, page := visit(t, s, s.key), "/console/@current/apps/"+itoa(app.ID)
	v.want(200, "Going to a version whose <code>plugin.json</code> sets a name or description replaces these.", v.get(page))
	v.want(200, "The app is now called Poster.", v.post(page, "do", "describe", "name", "Poster"))
	v.want(200, "Banner is now at version 1.", v.post(page+"/versions/1", "do", "return"))
}

// The faults of a form are linked to its fields, and get the focus.
func TestConsoleFaultsOfFields(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := "/console/@current/apps/" + itoa(furnish(t, s))
		v := visit(t, s, s.key)
		const marks = ` aria-invalid="true" aria-describedby="faults`
		long := strings.Repeat("x", 10001)
		for _, tc := range []struct {
			want, path string
			form       []string
		}{
			{`name="filename"` + marks + `"`, app + "/source", []string{"do", "save", "filename", "../x"}},
			{`name="filename"` + marks + `"`, app + "/source", []string{"do", "save", "filename", "site.ts"}},
			{`name="text"` + marks + `"`, app + "/source?file=site.ts", []string{"do", "save", "filename", "site.ts", "sha256", "x"}},
			{`name="message"` + marks + `"`, app + "/source", []string{"do", "save", "filename", "new.md", "message", strings.Repeat("x", 501)}},
			{`name="text"` + marks + `"`, app + "/source?file=site.ts", []string{"do", "save", "filename", "site.ts", "sha256", "x", "text", strings.Repeat("x", 1<<20+1)}},
			{`name="filename"` + marks + `"`, app + "/source", []string{"do", "review", "filename", "../x"}},
			{`name="text"` + marks + `"`, app + "/source?file=site.ts", []string{"do", "review", "filename", "site.ts", "sha256", "x"}},
			{`name="zip" accept=".zip,application/zip"` + marks + ` zip_note"`, app + "/source/upload", []string{"do", "review"}},
			{`name="zip" accept=".zip,application/zip"` + marks + ` zip_note"`, app + "/source/upload", []string{"do", "save"}},
			{`name="name"` + marks + ` name_note"`, app, []string{"do", "describe", "name", long, "description", long}},
			{`name="description"` + marks + `"`, app, []string{"do", "describe", "name", long, "description", long}},
			{`name="url"` + marks + ` url_note"`, "/console/@current/apps/new", []string{"do", "git", "url", "x"}},
			{`name="name"` + marks + `"`, "/console/@current/apps/new", []string{"do", "source"}},
			{`name="addresses"` + marks + ` addresses_note"`, "/console/@current/invites/new", []string{"do", "invite", "level", "1"}},
			{`name="message"` + marks + `"`, "/console/@current/invites/new", []string{"do", "invite", "level", "1", "addresses", "a@x.example", "message", long}},
			{`name="level"` + marks + ` level_note"`, "/console/@current/invites/new", []string{"do", "invite", "level", "x"}},
			{`name="level"` + marks + ` level_note"`, "/console/@current/invites/new", []string{"do", "preview", "level", "x"}},
			{`name="scopes" value="*" id="scopes"` + marks + `"`, "/console/keys", []string{"do", "make"}},
			{`name="days"` + marks + `"`, "/console/keys", []string{"do", "make", "scopes", "*", "days", "x"}},
			{`<div class="alert" id="faults" role="alert" tabindex="-1" autofocus>`, "/console/keys", []string{"do", "make"}},
		} {
			refused := v.post(tc.path, tc.form...)
			v.want(400, tc.want, refused)
			for _, link := range regexp.MustCompile(`<li><a href="#([^"]*)"`).FindAllStringSubmatch(refused.body, -1) {
				v.want(400, ` id="`+html.UnescapeString(link[1])+`"`, refused)
			}
		}
		for _, tc := range []struct {
			want, path string
			form       []string
		}{
			{`<a href="#url">Repository: `, "/console/@current/apps/new", []string{"do", "git", "url", "x"}},
			{`<a href="#days">Days until it expires: `, "/console/keys", []string{"do", "make", "scopes", "*", "days", "x"}},
			{`<a href="#scopes">Scopes: `, "/console/keys", v.get("/console/keys").fill(t, "make")},
		} {
			v.want(400, tc.want, v.post(tc.path, tc.form...))
		}
		v.want(200, "admin: All that members may. Manages apps", v.get("/console/@current/invites/new"))
		v.want(200, "changes apps and sites", v.get("/console/keys"))
		v.want(200, "The last use is kept to the hour.", v.get("/console/keys"))
		v.want(200, "last active is kept to the hour.", v.get("/console/@current/members"))
	})
}

// A mail is sent if the box is ticked, or if the caller may not see the link.
func TestConsoleMails(t *testing.T) {
	t.Parallel()
	s, mails := startMailing(t, config.Config{})
	invite := func(v *visitor, said, email string, form ...string) {
		t.Helper()
		form = append(form, "do", "invite", "level", "1", "addresses", email)
		v.want(200, said, v.post(invitingPage, form...))
	}
	owner := visit(t, s, s.key)
	invite(owner, "not mailed", "bea@x.example")
	invite(owner, "mail on its way", "cem@x.example", "send_email", "on")
	mailed(t, mails, 1)
	if got := mails.Mails()[0]; got.To[0] != "cem@x.example" {
		t.Errorf("%+v", got)
	}
	invite(visit(t, s, join(t, s)), "mail on its way", "dee@x.example")
}

func TestConsoleKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		c := must(client.New(s.URL, s.key))(t)
		o := must(s.Get(t.Context()))(t)
		v := visit(t, s, s.key)
		made := v.post("/console/keys", "do", "make", "scopes", "plugin:write", "scopes", "organization_member:read", "days", "7", "organization", o.ID)
		keys := must(c.ListKeys(t.Context(), client.Range{}))(t).Results
		if k := keys[1]; k.OrganizationID != o.ID || len(k.Scopes) != 2 || k.ExpiresAt == nil || time.Until(*k.ExpiresAt).Round(time.Hour) != 7*24*time.Hour {
			t.Errorf("%+v", k)
		}
		few := visit(t, s, regexp.MustCompile(`foy_\w{43}`).FindString(made.body))
		if page := few.get("/console/keys").body; strings.Count(page, `value="revoke"`) != 1 || strings.Contains(page, `value="organization_member:write"`) || strings.Contains(page, ` id="organization"`) {
			t.Errorf("what a key of few scopes is offered:\n%s", page)
		}
		for _, days := range []string{"0", "-1", "x", "3651", "99999999999999999999"} {
			v.want(400, "Days until it expires: Must be a whole number", v.post("/console/keys", "do", "make", "scopes", "*", "days", days))
		}
	})
}

// A key can be bound to any of the user's organizations, however many there are.
func TestConsoleKeysOfManyOrganizations(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	s := start(t, cfg)
	d := openDomain(t, cfg)
	for i := range page.DefaultLimit + 1 {
		o := must(d.Organizations.Create(t.Context(), "Branch "+strconv.Itoa(i)))(t)
		must(d.Invites.AddMember(t.Context(), o.ID, "ada@x.example", access.Member))(t)
	}
	v := visit(t, s, makeKey(t, d, "ada@x.example"))
	v.want(200, "Branch "+strconv.Itoa(page.DefaultLimit)+"</option>", v.get("/console/keys"))
}

// A form's name is valid only for this form and only from the user to whom it was shown.
func TestConsoleFormNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v, other := visit(t, s, s.key), visit(t, s, join(t, s))
		furnish(t, s)
		const invites = "/console/@current/invites"
		shown := v.get(invites).body
		name := formName.FindAllStringSubmatch(shown, -1)[1][1] // of the first row
		id := regexp.MustCompile(`type="hidden" name="id" value="([^"]*)"`).FindStringSubmatch(shown)[1]
		v.want(200, "/invite/", v.post(invites, "do", "link", "id", id, "form", name))
		other.want(403, "That did not work", other.post(invites, "do", "link", "id", id, "form", name))
		v.want(200, "withdrawn", v.post(invites, "do", "withdraw", "id", id, "form", name))
		var clicks sync.WaitGroup
		for range 4 {
			clicks.Go(func() { v.post("/console/@current/apps/new", "do", "source", "name", "Once", "form", name) })
		}
		clicks.Wait()
		if n := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t).Count; n != 2 {
			t.Errorf("%d apps, want one more than before", n)
		}
	})
}

// An app that another organization shares can be seen here, but changed only there.
func TestConsoleSharedApp(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	s := start(t, cfg)
	id := furnish(t, s)
	shared := true
	must(s.UpdateApp(t.Context(), id, client.AppPatch{IsGlobal: &shared}))(t)
	guest := visit(t, s, ownerElsewhere(t, cfg))
	for path, page := range guest.wander("/console") {
		if page.status != 200 {
			t.Errorf("%s: %d", path, page.status)
		}
		if changed := regexp.MustCompile(`value="(describe|delete|save|upgrade|return)"`).FindString(page.body); changed != "" {
			t.Errorf("%s offers %s", path, changed)
		}
	}
	guest.want(200, "with every organization, by", guest.get("/console/@current/apps/"+itoa(id)))
	guest.want(403, "and only that one may change it", guest.post("/console/@current/apps/"+itoa(id), "do", "delete"))
}

// ownerElsewhere makes another organization, and returns the key of its owner.
func ownerElsewhere(t *testing.T, cfg config.Config) string {
	t.Helper()
	_, key := joinElsewhere(t, cfg, "eve@x.example")
	return key
}

// joinElsewhere makes another organization with an owner, and returns its id and one of the owner's keys.
func joinElsewhere(t *testing.T, cfg config.Config, email string) (id, key string) {
	t.Helper()
	d := openDomain(t, cfg)
	o := must(d.Organizations.Create(t.Context(), "Elsewhere"))(t)
	must(d.Invites.AddMember(t.Context(), o.ID, email, access.Owner))(t)
	return o.ID, makeKey(t, d, email)
}

// makeKey makes a key of a user for everything, by a command.
func makeKey(t *testing.T, d *server.Domain, email string) string {
	t.Helper()
	user := must(d.Organizations.UserByEmail(t.Context(), email))(t)
	_, key, err := d.Keys.Create(t.Context(), access.Draft{UserID: user.ID, Scope: access.All})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		c := must(client.New(s.URL, s.key))(t)
		v, other, third := visit(t, s, s.key), visit(t, s, s.key), visit(t, s, s.key)
		all := must(c.ListSessions(t.Context(), client.Range{}))(t).Results
		if len(all) != 3 || all[0].Method != "key" || all[0].Current || all[0].Address != "127.0.0.1" || all[0].UserAgent == "" {
			t.Errorf("%+v", all)
		}
		page := v.get("/console/sessions")
		v.want(200, "this one", page)
		if n := strings.Count(page.body, `value="end"`); n != 3 {
			t.Errorf("%d sessions to end", n)
		}
		v.want(200, "The session has ended.", v.post("/console/sessions", "do", "end", "id", itoa(all[1].ID)))
		other.want(401, "Your session is over", other.get("/console/@current"))
		v.want(404, "It is gone", v.post("/console/sessions", "do", "end", "id", itoa(all[1].ID)))
		cookie := must(url.Parse(s.URL))(t)
		kept := v.http.Jar.Cookies(cookie)
		v.want(401, "Sign in", v.post("/console/session/end"))
		v.http.Jar.SetCookies(cookie, kept)
		v.want(401, "Your session is over", v.get("/console/@current"))
		if got := browse(t, "GET", s.URL+"/api/users/@me", http.Header{"Authorization": {"Bearer " + kept[0].Value}}); got.status != 401 {
			t.Errorf("a session as a key: %d %s", got.status, got.body)
		}
		third.want(401, "Sign in", third.post("/console/sessions", "do", "all"))
		if n := must(c.ListSessions(t.Context(), client.Range{}))(t).Count; n != 0 {
			t.Errorf("%d sessions", n)
		}
		own := must(c.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"plugin:read"}}))(t)
		reader := visit(t, s, own.APIKey)
		seen := reader.get("/console/sessions")
		reader.want(200, "this one", seen)
		reader.lacks(200, `name="id"`, seen)
		reader.lacks(200, `value="all"`, seen)
		bound := must(c.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"plugin:read"}, OrganizationID: must(s.Get(t.Context()))(t).ID}))(t)
		few := visit(t, s, bound.APIKey)
		few.want(403, "not bound to one", few.get("/console/sessions"))
		few.want(401, "Sign in", few.post("/console/session/end"))
	})
}
