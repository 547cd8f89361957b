package server_test

import (
	"bytes"
	"compress/gzip"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/face/console/editor"
	"foyer/internal/face/console/markup"
)

// visitor is a browser without a window that visits the console.
type visitor struct {
	*testing.T
	http http.Client
	url  string // of the server
}

func visit(t *testing.T, s *running, key string) *visitor {
	t.Helper()
	v := &visitor{T: t, url: s.URL, http: http.Client{Jar: must(cookiejar.New(nil))(t)}}
	if key != "" {
		v.want(200, "overview", v.post("/console/session", "key", key))
	}
	return v
}

// shown is a page.
type shown struct {
	status int
	path   string // where redirects have led
	body   string
	header http.Header
	weight int // in bytes, as sent
}

func (v *visitor) get(path string) shown { return v.send("GET", path, "") }

// post sends a form with names and values, like a page of the same site.
func (v *visitor) post(path string, form ...string) shown {
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Add(form[i], form[i+1])
	}
	return v.send("POST", path, values.Encode(), "Sec-Fetch-Site", "same-origin")
}

func (v *visitor) send(method, path, body string, headers ...string) shown {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept-Encoding", "gzip")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := v.http.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer res.Body.Close()
	sent, err := io.ReadAll(res.Body)
	if err != nil {
		v.Fatal(err)
	}
	text := sent
	if res.Header.Get("Content-Encoding") == "gzip" && method != http.MethodHead {
		text = must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(sent)))(v.T)))(v.T)
	}
	return shown{res.StatusCode, res.Request.URL.RequestURI(), string(text), res.Header, len(sent)}
}

// want checks a page's status, and that it contains a text.
func (v *visitor) want(status int, text string, got shown) {
	v.Helper()
	v.check(status, text, true, got)
}

// lacks checks a page's status, and that it does not contain a text.
func (v *visitor) lacks(status int, text string, got shown) {
	v.Helper()
	v.check(status, text, false, got)
}

// secretPath matches the paths of links whose holder is let in: no other site may see them.
var secretPath = regexp.MustCompile(`^/(invite|signin|address)\b`)

func (v *visitor) check(status int, text string, there bool, got shown) {
	v.Helper()
	if got.status != status || there != strings.Contains(strings.ToLower(html.UnescapeString(got.body)), strings.ToLower(text)) {
		_, main, _ := strings.Cut(got.body, "<main")
		v.Errorf("%s: %d, want %d, with %q: %t:\n%s", got.path, got.status, status, text, there, main)
	}
	referrer := "same-origin"
	if secretPath.MatchString(got.path) {
		referrer = "no-referrer"
	}
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") != referrer {
		v.Errorf("%s: %v", got.path, got.header)
	}
}

// inForms matches the values in forms, which must be returned as they were.
var inForms = regexp.MustCompile(`(?s)value="[^"]*"|<textarea[^<]*</textarea>`)

var links = regexp.MustCompile(`href="([/?][^"#]*)"`)

// isPage reports whether the answer is HTML and not a file.
func (s shown) isPage() bool { return strings.HasPrefix(s.header.Get("Content-Type"), "text/html") }

var ids = regexp.MustCompile(`/[0-9]+`)

// wander follows the links from a page to the pages below it, five of each kind, and returns all pages.
func (v *visitor) wander(from string) map[string]shown {
	v.Helper()
	pages, kinds, ahead := map[string]shown{}, map[string]int{}, []string{from}
	for len(ahead) > 0 {
		path := ahead[0]
		ahead = ahead[1:]
		kind := ids.ReplaceAllString(path, "/#")
		if _, seen := pages[path]; seen || kinds[kind] == 5 {
			continue
		}
		kinds[kind]++
		page := v.get(path)
		pages[path] = page
		here, _, _ := strings.Cut(path, "?")
		for _, link := range links.FindAllStringSubmatch(page.body, -1) {
			to := html.UnescapeString(link[1])
			if strings.HasPrefix(to, "?") {
				to = here + to
			}
			if strings.HasPrefix(to, from) && page.isPage() {
				ahead = append(ahead, to)
			}
		}
	}
	return pages
}

// nobody is an id that belongs to no user and no invite.
const nobody = "01890000-0000-7000-8000-000000000001"

const hostile = "</title></textarea></code><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\"'{{.}}"

// furnish makes one of each object, with hostile texts, and returns the app's id.
func furnish(t *testing.T, s *running) int64 {
	t.Helper()
	app := must(s.CreateApp(t.Context(), client.AppDraft{
		PluginType: client.PluginSource, Name: hostile, Description: hostile, Capabilities: []byte(`{"</script>": 1}`),
	}))(t)
	for _, text := range []string{"export const x = " + strconv.Quote(hostile), "\n<" + hostile} {
		files := map[string]*string{"site.ts": &text, "a b&c.txt": &text}
		must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: files}))(t)
	}
	site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new(hostile)}))(t)
	must(s.PlaceApp(t.Context(), site.ID, client.PlacementDraft{AppID: app.ID}))(t)
	must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example", Message: hostile}))(t)
	return app.ID
}

// join makes ada@x.example a member, and returns their key.
func join(t *testing.T, s *running) string {
	t.Helper()
	return joinAs(t, s, "ada@x.example")
}

// joinAs makes somebody a member, and returns their key.
func joinAs(t *testing.T, s *running, email string) string {
	t.Helper()
	link := s.handed(t, email)
	anybody := must(client.New(s.URL, ""))(t)
	return must(anybody.AcceptInvitation(t.Context(), path.Base(link), client.Names{}))(t).APIKey
}

// handed invites somebody without a mail, and returns the path of the link, to be passed on by hand.
func (s *running) handed(t *testing.T, email string) string {
	t.Helper()
	invite := must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: email, SendEmail: new(false)}))(t)
	return strings.TrimPrefix(must(s.LinkInvite(t.Context(), invite.ID))(t).URL, s.URL)
}

// Every link leads to a page, whatever the texts are.
func TestConsoleLinks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := furnish(t, s)
		for who, tc := range map[string]struct {
			key     string
			pages   []string
			changes bool
		}{
			"owner": {s.key, []string{"/apps", "/apps/new", "/apps/unused", "/audit", "/invites", "/invites/new", "/members", "/settings", "/profile", "/source?file=site.ts", "/versions/2"}, true},
			"member": {
				join(t, s),
				[]string{"/apps", "/activity", "/invites", "/members", "/source?file=a%20b%26c.txt"},
				false,
			},
		} {
			pages := visit(t, s, tc.key).wander("/console")
			changes := false
			for path, page := range pages {
				if page.status != http.StatusOK {
					t.Errorf("%s: %s: %d", who, path, page.status)
				}
				bare := strings.Replace(inForms.ReplaceAllString(page.body, ""), `<script src="`+markup.Enhancements.Path+`" defer></script>`, "", 1)
				bare = strings.Replace(bare, `<script src="`+editor.Script.Path+`" defer></script>`, "", 1)
				for _, bad := range []string{"<script", "<img", "\u202e", "onerror=alert(1)>", "<no value>", "ZgotmplZ"} {
					if page.isPage() && strings.Contains(bare, bad) {
						t.Errorf("%s: %s has %q", who, path, bad)
					}
				}
				changes = changes || strings.Contains(page.body, `value="describe"`) || strings.Contains(page.body, `value="save"`)
			}
			if changes != tc.changes {
				t.Errorf("%s is offered to change apps: %t", who, changes)
			}
			all := strings.Join(slices.Sorted(maps.Keys(pages)), "\n") + "\n"
			for _, path := range tc.pages {
				if !strings.Contains(all, path+"\n") {
					t.Errorf("%s is led to no page %s, but to\n%s", who, path, all)
				}
			}
		}
		stranger := visit(t, s, "")
		for _, path := range []string{"/console", "/console/keys", "/console/@current", "/console/@current/apps/" + itoa(app)} {
			stranger.want(401, "Sign in", stranger.get(path))
			stranger.want(401, "Sign in", stranger.post(path, "do", "delete"))
		}
	})
}

// The API does or refuses what a form asks for; nothing else happens.
func TestConsoleForms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := "/console/@current/apps/" + itoa(furnish(t, s))
		owner, member := visit(t, s, s.key), visit(t, s, join(t, s))
		me := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[0]
		for _, form := range [][]string{
			{app, "do", "delete"},
			{app, "do", "describe", "name", "Mine"},
			{app + "/source", "do", "save", "filename", "new.ts"},
			{app + "/versions/1", "do", "return"},
			{"/console/@current/apps/new", "do", "source", "name", "Mine"},
			{"/console/@current/members/" + me.ID + "/role", "do", "level", "level", "15", "was.level", "15"},
		} {
			member.want(403, "That did not work", member.post(form[0], form[1:]...))
		}
		owner.want(200, "are saved.", owner.post(app, "do", "describe", "name", "A name", "description", "Two\r\nlines"))
		owner.want(400, `value="`+strings.Repeat("x", 201)+`"`, owner.post(app, "do", "describe", "name", strings.Repeat("x", 201)))
		owner.want(400, "does not say what to do", owner.post(app, "do", "constructor"))
		owner.want(400, "did not arrive as a whole", owner.post(app, "do", strings.Repeat("x", 5<<20)))
		for _, gone := range []shown{
			owner.post(app+"0", "do", "check"),
			owner.post("/console/@current/invites", "do", "link", "id", nobody),
			owner.post("/console/keys", "do", "revoke", "id", "12345"),
		} {
			owner.want(404, "somebody may have answered, withdrawn or deleted it", gone)
		}
		owner.want(404, "eve@x.example", owner.post("/console/@current/invites", "do", "link", "id", nobody))
		owner.want(404, `/apps">Go to the apps`, owner.post(app+"0", "do", "check"))
		owner.want(404, `/apps">Go to the apps`, owner.get(app+"/versions/12345"))
		owner.want(404, `/console">Go to your organizations`, owner.get("/console/01890000-0000-7000-8000-000000000001/apps/5"))
		owner.want(404, "<h1>Page not found</h1>", owner.get("/console/@current/nothing/here"))
		lost := owner.get(app + "0")
		owner.want(404, "There is no such app, or no such part of it: it may have been deleted", lost)
		owner.want(404, `/audit?item=`+app[strings.LastIndexByte(app, '/')+1:]+`0&scope=Plugin">See what was done to it`, lost)
		owner.want(400, "Choose a role.", owner.post("/console/@current/members/"+me.ID+"/role", "do", "level"))
		owner.want(400, "Choose at least one.", owner.post("/console/keys", "do", "make"))
		owner.want(200, "Appears twice", owner.post("/console/@current/invites/new", "do", "invite", "level", "1", "addresses", "new@x.example; new@x.example"))
		for _, path := range []string{"/console/@current/apps?offset=-1", "/console/@current/apps?offset=x"} {
			owner.want(400, "whole number", owner.get(path))
		}
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
			owner.want(403, "another site", owner.send("POST", app, "do=delete", headers...))
		}
		for _, address := range []string{
			"ssh://user:canary@host/x", "https:///user:canary@host/x", "https:user:canary@host/x", "canary@host/x", "ssh://host/x?token=canary", "ssh://host/x#canary",
			"git@host:x?canary", "git@canary@host:x", "xgit@canary:x", "ssh://canarygit@host/x", "ssh://canary?x@host", "ssh://canary:1#x@host",
		} {
			owner.lacks(400, "canary", owner.post("/console/@current/apps/new", "do", "git", "url", address))
		}
		if said := owner.post("/console/@current/invites", "do", "withdraw", "id", nobody); said.status != 404 || strings.Contains(said.body, "on its way") { // "On its way" is a filter
			t.Errorf("%d: says what was done before:\n%s", said.status, said.body)
		}
		for address, text := range map[string]string{
			"git@github.com:acme/banner.git":         "write https://github.com/acme/banner.git",
			"ssh://git@github.com/acme/banner":       "write https://github.com/acme/banner",
			"ssh://user:canary@host/x?token=canary#": "Part of the address is not shown",
		} {
			owner.want(400, text, owner.post("/console/@current/apps/new", "do", "git", "url", address))
		}
		owner.want(400, `value="git@github.com:acme/banner.git"`, owner.post("/console/@current/apps/new", "do", "git", "url", " git@github.com:acme/banner.git"))
		owner.want(400, `value="ssh://host/x"`, owner.post("/console/@current/apps/new", "do", "git", "url", "ssh://user:canary@host/x?token=canary#"))
		owner.want(200, "value=\"A \uFFFD name\"", owner.post(app, "do", "describe", "name", "A \xff name"))
		owner.want(200, "a\uFFFD.md", owner.post(app+"/source", "do", "save", "filename", "a\xff.md", "sha256", "", "text", "x"))
		owner.lacks(400, "is now called", owner.post(app, "do", "describe", "name", "", "was.name", "A"))
		made, err := s.ListApps(t.Context(), client.AppFilter{}, client.Range{})
		if err != nil || made.Count != 1 || made.Results[0].Name != "A \uFFFD name" || made.Results[0].Description != "Two\nlines" {
			t.Errorf("%+v, %v", made, err)
		}
	})
}

// Two users who edit a file at the same time do not silently undo each other's work, and lines keep their line endings.
func TestConsoleEditsAtTheSameTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		id := furnish(t, s)
		page := "/console/@current/apps/" + itoa(id) + "/source?file=site.ts"
		v := visit(t, s, s.key)
		before := v.opened(page)
		theirs := "a\r\n"
		must(s.UpdateSource(t.Context(), id, client.SourcePatch{Source: map[string]*string{"site.ts": &theirs}}))(t)
		undone := v.post(page, "do", "save", "delete", "site.ts", "filename", "site.ts", "sha256", before)
		v.want(400, "site.ts has changed since you opened it: somebody else changed it, or an earlier save of yours", undone)
		v.want(400, "\na\r\n</textarea>", undone)
		refused := v.post(page, "do", "save", "filename", "site.ts", "sha256", before, "text", "mine\r\n")
		v.want(400, "\nmine\n</textarea>", refused)
		v.want(400, "site.ts has changed since you opened it: somebody else changed it, or an earlier save of yours", refused)
		v.want(400, "There is a file site.ts: open it", v.post(page, "do", "save", "filename", "site.ts", "text", "mine"))
		v.want(200, "is saved.", v.post(page, "do", "save", "filename", "site.ts", "sha256", v.opened(page), "text", "mine\r\n"))
		mixed, spaced := "a\r\nb\nc\rd", "x"
		must(s.UpdateSource(t.Context(), id, client.SourcePatch{Source: map[string]*string{"mixed": &mixed, " a b&c.txt": &spaced}}))(t)
		sha := v.opened("/console/@current/apps/" + itoa(id) + "/source?file=mixed")
		v.want(200, "Nothing was changed", v.post(page, "do", "save", "filename", "mixed", "sha256", sha, "text", "a\r\nb\r\nc\r\nd"))
		sha = v.opened("/console/@current/apps/" + itoa(id) + "/source?file=%20a%20b%26c.txt")
		for _, said := range []string{"is deleted.", "Nothing was changed"} {
			v.want(200, said, v.post(page, "do", "save", "delete", " a b&c.txt", "filename", " a b&c.txt", "sha256", sha))
		}
		v.want(400, "a b&c.txt was deleted since you opened it.", v.post(page, "do", "save", "filename", " a b&c.txt", "sha256", sha, "text", "y"))
		source := must(s.GetSource(t.Context(), id))(t).Source
		if source["site.ts"] != "mine\r\n" || source["mixed"] != mixed || source["a b&c.txt"] == "" || source[" a b&c.txt"] != "" {
			t.Errorf("%q", source)
		}
	})
}

// opened returns the hash of a file on its page.
func (v *visitor) opened(page string) string {
	v.Helper()
	return regexp.MustCompile(`name="sha256" value="(\w{64})"`).FindStringSubmatch(v.get(page).body)[1]
}

func TestConsoleSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, "")
		v.want(401, "The API key is not valid", v.post("/console/session", "key", "foy_wrong"))
		v.want(403, "another site", v.send("POST", "/console/session", "key="+s.key, "Sec-Fetch-Site", "cross-site"))
		v.want(200, "Your keys", v.post("/console/session", "key", " "+s.key+"\n", "then", "/console/keys?offset=0"))
		for _, then := range []string{"https://evil.example/console/", "//evil.example/console/", "/docs", "javascript:alert(1)", "/console"} {
			if got := v.post("/console/session", "key", s.key, "then", then); !regexp.MustCompile(`^/console/[0-9a-f-]{36}$`).MatchString(got.path) {
				t.Errorf("%s leads to %s", then, got.path)
			}
		}
		made := v.post("/console/keys", "do", "make", "scopes", "*", "days", "7")
		key := regexp.MustCompile(`foy_\w{43}`).FindString(made.body)
		other := visit(t, s, key)
		id := regexp.MustCompile(`(?s)signed in with it.*?name="id" value="(\d+)"`).FindStringSubmatch(other.get("/console/keys").body)[1]
		v.want(200, "The key is revoked", v.post("/console/keys", "do", "revoke", "id", id))
		other.want(401, "Your session is over", other.get("/console/@current"))
		v.want(200, "You are", v.get("/console/@current"))
		v.want(401, "Sign in", v.post("/console/session/end"))
		v.want(401, "Sign in", v.get("/console/session"))
		v.want(401, "Sign in", v.get("/console/@current"))
		if all := s.log.String(); strings.Contains(all, s.key) || strings.Contains(all, key) {
			t.Error("the log has a key")
		}
	})
}

var formName = regexp.MustCompile(`name="form" value="(\w{26})"`)

// A double click has its effect once, and shows the result.
func TestConsoleDoubleClick(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		for path, form := range map[string][]string{
			"/console/@current/apps/new":    {"do", "source", "name", "Banner"},
			"/console/keys":                 {"do", "make", "scopes", "*"},
			"/console/@current/invites/new": {"do", "invite", "level", "1", "addresses", "ada@x.example"},
		} {
			form = append(form, "form", formName.FindStringSubmatch(v.get(path).body)[1])
			first, again := v.post(path, form...), v.post(path, form...)
			if first.status != 200 || again.status != 200 || first.path != again.path {
				t.Errorf("%s: %d at %s, then %d at %s", path, first.status, first.path, again.status, again.path)
			}
			if key := regexp.MustCompile(`foy_\w{43}`); key.FindString(first.body) != key.FindString(again.body) {
				t.Errorf("%s: another key", path)
			}
		}
		apps := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t)
		if keys := v.get("/console/keys").body; apps.Count != 1 || strings.Count(keys, `value="revoke"`) != 2 {
			t.Errorf("%d apps, keys:\n%s", apps.Count, keys)
		}
	})
}

// A user's input is not lost when their session ends.
func TestConsoleSignedOutMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, "")
		large := strings.Repeat("<a href=\"x\">\r\n", 500)
		refused := v.post("/console/@current/apps/new/", "do", "source", "name", "A <b>name</b>", "description", large, "url", "https://user:canary@host/", "key", "canary")
		v.want(401, `name="then" value="/console/@current/apps/new/"`, refused)
		v.want(401, "What you sent is kept", refused)
		v.want(401, "too large to keep", v.post("/console/@current/apps/new", "description", strings.Repeat("x", 70<<10)))
		v.want(401, "too large to keep", v.upload("/console/@current/apps/1/source/upload", make([]byte, 70<<10), "form", "x")) // the rest comes after the file
		v.want(403, "another site", v.send("POST", "/console/@current/apps/new", "do=source", "Sec-Fetch-Site", "cross-site"))
		mistyped := v.post("/console/session", "key", "foy_", "then", "/console/@current/apps/new", "sent", refused.hidden("sent")[0])
		v.want(401, "What you sent is kept", mistyped)
		v.lacks(401, "is kept", v.get("/console/@current/apps/new"))
		again := v.post("/console/session/", "key", s.key, "then", "/console/@current/apps/new/", "sent", mistyped.hidden("sent")[0])
		v.want(200, `<form method="post" action="/console/@current/apps/new/">`, again)
		v.want(200, `name="name" value="A <b>name</b>"`, again)
		v.want(200, `name="description" value="`+large+`"`, again)
		hook := visit(t, s, "").post("/console/@current/webhooks", "do", "create", "receiver", "https://user:canary@host/", "was.receiver", "https://host/?canary", "description", "For the shop")
		v.want(401, "For+the+shop", hook)
		for _, page := range []shown{refused, mistyped, again, hook} {
			v.lacks(page.status, "canary", page)
		}
	})
}

// A user who leaves an organization, or ends their own session, gets a message.
func TestConsoleGoodbye(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		ada := visit(t, s, join(t, s))
		them := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[1]
		ada.want(401, "You have left", ada.post("/console/@current/members/"+them.ID+"/remove", "do", "remove"))
		for _, way := range []struct{ do, said string }{{"end", "You are signed out."}, {"all", "You are signed out everywhere."}} {
			ends := visit(t, s, s.key)
			id := regexp.MustCompile(`(?s)this one.*?name="id" value="(\d+)"`).FindStringSubmatch(ends.get("/console/sessions").body)[1]
			ends.want(401, way.said, ends.post("/console/sessions", "do", way.do, "id", id))
		}
		owner := visit(t, s, s.key)
		owner.want(401, "The key is revoked, and you are signed out.", owner.post("/console/keys", "do", "revoke", "id", "1"))
		owner.lacks(401, "not valid", owner.get("/console"))
	})
}

// If the last page of a list is empty by now, the page before it is shown.
func TestConsoleLastPart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		for range 51 {
			must(s.CreateApp(t.Context(), client.AppDraft{Name: "Banner"}))(t)
		}
		v := visit(t, s, s.key)
		v.want(200, `offset=50">Next`, v.get("/console/@current/apps"))
		v.want(200, "51 to 51 of 51", v.get("/console/@current/apps?offset=50"))
		check(t, s.DeleteApp(t.Context(), 51))
		if left := v.get("/console/@current/apps?offset=50"); strings.Count(left.body, ">Banner<") != 50 {
			t.Errorf("%s", left.body)
		}
	})
}
