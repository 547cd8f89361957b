package server_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db/dbtest"
)

// The search finds what the user may see by a part of its name, and links to it.
func TestConsoleSearch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		for range 7 {
			must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Zebra <b>"}))(t)
		}
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Zebra shop")}))(t)
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "zebra@x.example"}))(t)
		member := join(t, s)
		v := visit(t, s, s.key)
		search := func(v *visitor, text string, want ...string) {
			t.Helper()
			got := v.get("/console/@current/search?q=" + text)
			for _, w := range want {
				v.want(200, w, got)
			}
		}
		search(v, "zebra", "Zebra <b>", `>All 7</a>`, "/sites/"+itoa(site.ID)+`"`, "zebra@x.example")
		for i := range 8 {
			must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Branch " + itoa(int64(i)))}))(t)
		}
		search(v, "branch", "/sites?search=branch\">All 8</a>")
		sites := v.get("/console/@current/sites?search=BRANCH")
		v.want(200, `value="BRANCH"`, sites)
		v.want(200, "Branch 7", sites)
		v.lacks(200, "Zebra", sites)
		v.want(200, "No site matches.", v.get("/console/@current/sites?search=lion"))
		search(v, "ADA", "ada@x.example", "/invites?status=any&search=ada%40x.example\"") // it is accepted
		search(v, "upgr", ">Apps</bdi>")
		for text, page := range map[string]string{"sett": "/settings", "days": "/settings", "webhook": "/webhooks", "secret": "/webhooks", "invitations": "/invitations", "organizations": `"/console"`} {
			search(v, text, page)
		}
		search(v, s.key, s.key[:12]+"…")
		v.lacks(200, s.key, v.get("/console/@current/search?q="+s.key))
		made := must(must(client.New(s.URL, s.key))(t).CreateKey(t.Context(), client.KeyDraft{Name: "Nightly reports", Scopes: []string{"plugin:read"}}))(t)
		search(v, "REPORTS", "Nightly reports", made.APIKey[:12]+"…", "/keys")
		search(v, "%25_nothing", "Nothing found.")
		search(v, "", "By a part of a name")
		search(v, strings.Repeat("x", 500), "Nothing found.")
		for _, name := range []string{"فروشگاه\u200cهای می\u200cخواهم", "👩\u200d👩\u200d👧\u200d👦 family"} { // with joiners
			must(s.CreateSite(t.Context(), client.SitePatch{Name: &name}))(t)
			search(v, url.QueryEscape(name), `"Of this page"`, `value="`+name+`"`, `">Sites</h2>`)
		}
		search(v, strings.Repeat("x", 99)+"%F0%9F%9A%80%F0%9F%9A%80", "Nothing found.", `value="`+strings.Repeat("x", 99)+`🚀"`)
		search(v, "%00%01%ffbranch", "Branch 5")
		v.lacks(200, s.key, v.get("/console/@current/search?q=%E2%80%8B"+s.key))
		ada := visit(t, s, member)
		ada.lacks(200, "Nightly", ada.get("/console/@current/search?q=reports"))
		reader := visit(t, s, s.as(t, member).keyFor(t, "plugin:read"))
		search(reader, "zebra", "Zebra shop")
		reader.lacks(200, "zebra@x.example", reader.get("/console/@current/search?q=zebra"))
	})
}

// A refused filter is shown again with the list, as it was typed, and the page says nothing about items.
func TestConsoleRefusedFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner"}))(t)
		v := visit(t, s, s.key)
		const refused = `aria-invalid="true" aria-describedby="faults" value="`
		long := strings.Repeat("🚀", 101)
		for _, list := range []string{"apps", "members", "sites", "invites"} {
			page := v.get("/console/@current/" + list + "?search=" + url.QueryEscape(long))
			v.want(400, "Search: Must be a text of at most 400 bytes", page)
			v.want(400, refused+long+`"`, page)
			v.want(400, "/"+list+`">Show all</a>`, page)
			v.want(400, refused, v.get("/console/@current/"+list+"?search=%00%ff"))
			v.lacks(400, "matches.", page)
		}
		page := v.get("/console/@current/apps?ordering=size")
		v.want(400, `placeholder="Search for an app"`, page)
		v.lacks(400, "no apps yet", page)
	})
}

// An organization may have more keys than a page of them holds.
func TestConsoleFindsAmongManyKeys(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url})
		dbtest.Exec(t, dbtest.Open(t, url), `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
			INSERT INTO keys (user_id, hash, scopes, created_at, name)
			SELECT user_id, hash || CAST(i AS TEXT), scopes, created_at, CASE i WHEN 1000 THEN 'Zebra reports' ELSE 'Pipeline' END FROM keys CROSS JOIN n ORDER BY i`)
		v := visit(t, s, s.key)
		v.want(200, "Zebra reports", v.get("/console/@current/search?q=zebra"))
		v.want(200, ">All 999</a>", v.get("/console/@current/search?q=pipeline"))
	})
}

// A catalog may have more apps than one answer of the API.
func TestConsoleFindsInALargeCatalog(t *testing.T) {
	t.Parallel()
	entries := make([]client.CatalogApp, 1500)
	for i := range entries {
		entries[i].Name, entries[i].URL = "App "+itoa(int64(i+1)), "http://127.0.0.1:1/"+itoa(int64(i+1))
	}
	catalog := filepath.Join(t.TempDir(), "catalog.json")
	check(t, os.WriteFile(catalog, must(json.Marshal(entries))(t), 0o600))
	s := start(t, config.Config{Catalog: catalog})
	v := visit(t, s, s.key)
	v.want(200, "App 1500", v.get("/console/@current/apps/new?search=app+1500"))
	v.want(200, "App 1500", v.get("/console/@current/apps/catalog?name=App+1500&url=http://127.0.0.1:1/1500"))
	v.want(404, "The catalog has no app of this name.", v.get("/console/@current/apps/catalog?name=App+1500&url=http://127.0.0.1:1/1"))
}

// An entry of the activity leads to its member even if their address has changed since.
func TestConsoleActivityAfterAnAddressChange(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, Bootstrap: config.Bootstrap{Email: org.NobodysEmail}})
		c, v := must(client.New(s.URL, s.key))(t), visit(t, s, s.key)
		must(c.CreateKey(t.Context(), client.KeyDraft{Scopes: []string{"plugin:read"}}))(t)
		email := "grace@x.example"
		must(c.ChangeSelf(t.Context(), client.SelfPatch{Email: &email}))(t)
		page := v.get("/console/@current/audit")
		v.want(200, `<bdi>their own membership</bdi>`, page)
		v.want(200, `<bdi>a key</bdi>`, page)
		entry := regexp.MustCompile(`added the member <a href="([^"]*)"><bdi>` + org.NobodysEmail).FindStringSubmatch(page.body)
		if entry == nil {
			t.Fatal(page.body)
		}
		list := v.get(entry[1])
		v.want(200, `Members <span class="count">1</span>`, list)
		v.want(200, email, list)
		v.want(200, "No member matches.", v.get(strings.Split(entry[1], "?")[0]+"?id=00000000-0000-7000-8000-000000000000"))
		v.want(200, "No member matches.", v.get("/console/@current/members?id=x"))
	})
}
