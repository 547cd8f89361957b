package server_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

// The activity has the id of the browser's request.
func TestConsoleRequestID(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		visit(t, s, s.key).send("POST", "/console/@current/apps/new", "do=source&name=Banner", "X-Request-Id", "by-hand")
		done, err := s.ListActivity(t.Context(), client.ActivityFilter{}, client.Range{})
		if err != nil || done.Count != 1 || done.Results[0].RequestID != "by-hand" {
			t.Errorf("%+v, %v", done.Results, err)
		}
	})
}

// The console works behind a proxy that terminates TLS and serves it below a path.
func TestConsoleBehindAProxy(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{BaseURL: "https://foyer.example/at/home"})
	v := &visitor{T: t, url: "http://" + s.address(t, "listening"), http: http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	got := v.post("/console/session", "key", s.key, "then", "/console/keys")
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/at/home/console/keys" {
		t.Errorf("%d, %v", got.status, got.header)
	}
	cookie := got.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-foyer=", "; Path=/;", "; Max-Age=604800;", "; HttpOnly;", "; Secure;", "; SameSite=Lax"} {
		if !strings.Contains(cookie+";", want) {
			t.Errorf("%s lacks %s", cookie, want)
		}
	}
	session, _, _ := strings.Cut(cookie, ";")
	page := v.send("GET", "/console/@current/apps", "", "Cookie", session)
	for _, link := range links.FindAllStringSubmatch(page.body, -1) {
		if !strings.HasPrefix(link[1], "/at/home/") {
			t.Errorf("a link leads to %s", link[1])
		}
	}
	v.want(200, "Apps", page)
	for origin, status := range map[string]int{
		"http://foyer.example": 403, "http://10.0.0.1": 403, "http://localhost:1": 303, "http://127.0.0.1:1": 303, "http://[::1]": 303,
	} {
		r := must(http.NewRequestWithContext(t.Context(), "POST", v.url+"/console/session", strings.NewReader("key="+s.key)))(t)
		r.Host = strings.TrimPrefix(origin, "http://")
		r.Header = http.Header{"Origin": {origin}, "Content-Type": {"application/x-www-form-urlencoded"}}
		got, err := v.http.Do(r)
		check(t, err)
		defer got.Body.Close()
		body := must(io.ReadAll(got.Body))(t)
		if got.StatusCode != status || status == 403 && !strings.Contains(string(body), "open https://foyer.example/at/home/console") {
			t.Errorf("%s: %d: %s", origin, got.StatusCode, body)
		}
	}
	if got := v.send("POST", "/console/@current/apps/new", "do=source&name=x", "Cookie", session, "Origin", "https://foyer.example"); got.status != http.StatusSeeOther {
		t.Errorf("%d: %s", got.status, got.body)
	}
}

// A user who accepts an invite by a link that was passed on is signed in, even behind a proxy that serves the console
// below a path.
func TestConsoleFromAnInvite(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{BaseURL: "http://foyer.example/at/home"})
	v := visit(t, &running{URL: "http://" + s.address(t, "listening")}, "")
	c := must(client.New(v.url, s.key))(t).Organization(client.Current)
	invited := must(c.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@x.example"}))(t)
	link := must(c.LinkInvite(t.Context(), invited.ID))(t)
	accepted := v.post(strings.TrimPrefix(link.URL, "http://foyer.example/at/home"), "answer", "accept")
	if !regexp.MustCompile(`href="/at/home/console/[0-9a-f-]{36}"`).MatchString(accepted.body) || !strings.Contains(accepted.body, "foy_") {
		t.Errorf("%d %s", accepted.status, accepted.body)
	}
	v.want(200, "Members", v.get("/console/@current"))
}

// Requests without a key, or without the right to what they ask, cost next to nothing.
func TestConsoleLargeForms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		v.want(400, "At most 100 fit in one form, not 101.", v.post("/console/@current/invites/new", "do", "invite", "level", "1", "addresses", strings.Repeat("A Name <a@x.example>, ", 101), "message", strings.Repeat("m", 50<<10)))
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Large"}))(t)
		source := "/console/@current/apps/" + itoa(app.ID) + "/source"
		large := strings.Repeat("\r\n", 1<<20)
		v.want(400, "larger than 262144 bytes", v.post("/console/session", "do", large))
		v.want(400, "larger than 65536 bytes", v.post("/console/@current/invites", "do", large))
		v.want(400, "go back to the form", v.post("/console/@current/invites", "do", large))
		v.want(200, `autofocus>The mail to`, v.post("/console/@current/invites/new", "do", "preview", "level", "1", "addresses", strings.Repeat("жжжж Name <ada@x.example>\r\n", 100), "message", strings.Repeat("🙂", 5000)))
		many := slices.Repeat([]string{"filename", "x"}, 10_001)
		v.want(400, "more than 10000 fields", v.post(source, many...))
		v.want(400, "more than 10000 fields", v.upload(source, nil, many...))
		v.want(400, "does not say what to do", v.upload(source, nil, many[:19_998]...))
		stranger := visit(t, s, "")
		stranger.want(401, "Sign in", stranger.post(source, "do", large))
		v.want(200, "is saved.", v.post(source, "do", "save", "filename", "a.txt", "text", large))
		diff := v.get("/console/@current/apps/" + itoa(app.ID) + "/versions/1")
		v.want(200, "There is more", diff)
		if len(diff.body) > 100<<10 {
			t.Errorf("a page of %d bytes", len(diff.body))
		}
	})
}

// Requests that do not reach the API also count for the limit.
func TestConsoleLimit(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	stranger := visit(t, s, "")
	ctx, stop := context.WithCancel(t.Context())
	spent := make(chan struct{})
	go func() { // ten more requests a second are allowed, as many as pages make on a busy machine
		defer close(spent)
		for ctx.Err() == nil {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/users/@me", nil)
			if err != nil {
				return
			}
			if w, err := http.DefaultClient.Do(r); err == nil {
				w.Body.Close()
			}
		}
	}()
	t.Cleanup(func() { stop(); <-spent })
	for text, ask := range map[string]func() shown{
		"That did not work": func() shown { return v.get("/console/01890000-0000-7000-8000-000000000001") },
		"Send it again":     func() shown { return v.post("/console/keys", "do", "nothing") },
		"Go to":             func() shown { return stranger.get("/console") },
		`name="key"`:        func() shown { return stranger.post("/console/session", "key", "foy_") },
	} {
		const tries = 2000 // 600 are allowed at once
		got := ask()
		for range tries {
			if got.status == http.StatusTooManyRequests {
				break
			}
			got = ask()
		}
		v.want(429, text, got)
	}
	v.want(200, "Apps", v.get("/console/@current/apps"))
	if signedOut := v.post("/console/session/end"); signedOut.path != "/console" {
		t.Errorf("still signed in: %d at %s", signedOut.status, signedOut.path)
	}
}

// A user who reaches the limit of invites sees the limit and when to try again.
func TestConsoleOverTheInvitesOfADay(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{InviteLimit: 1})
	v := visit(t, s, s.key)
	v.post("/console/@current/invites/new", "do", "invite", "level", "1", "addresses", "ada@x.example")
	refused := v.post("/console/@current/invites/new", "do", "invite", "level", "1", "addresses", "eve@x.example")
	v.want(429, "At most 1 invites a day", refused)
	if !regexp.MustCompile(`Try again after \d+ \w+ \d{4}, \d\d:\d\d UTC`).MatchString(refused.body) {
		t.Error(refused.body)
	}
	if after, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || after < 86000 || after > 86400 {
		t.Errorf("Retry-After: %d, %v", after, err)
	}
}

// Mails to an address are limited, whether they are about invites or about a change of address.
func TestMailsOfADay(t *testing.T) {
	t.Parallel()
	s, _ := startMailing(t, config.Config{MailLimit: 1})
	draft := client.InviteDraft{TargetEmail: "ada@x.example"}
	must(s.CreateInvite(t.Context(), draft))(t)
	if _, err := s.CreateInvite(t.Context(), draft); !client.IsThrottled(err) {
		t.Error(err)
	}
	if _, err := must(client.New(s.URL, s.key))(t).ChangeSelf(t.Context(), client.SelfPatch{Email: &draft.TargetEmail}); !client.IsThrottled(err) {
		t.Error(err)
	}
}

// A form with a key that has made too many requests is shown again, unless it is large: then it is not even read.
func TestConsoleOverTheRate(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{RateLimit: 6})
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner"}))(t)
	v := visit(t, s, s.key)
	v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	over := func(path string, form ...string) shown { // one request in ten seconds is allowed
		got := v.post(path, form...)
		for got.status != http.StatusTooManyRequests {
			got = v.post(path, form...)
		}
		return got
	}
	v.want(429, `value="Kept"`, over("/console/@current/apps/new", "do", "source", "name", "Kept"))
	refused := over("/console/@current/sites", "do", "create", "name", "Kept")
	v.want(429, "What you typed is still here", refused)
	v.want(429, `name="name" value="Kept"`, refused)
	if refused.header.Get("Retry-After") == "" {
		t.Error(refused.header)
	}
	source := "/console/@current/apps/" + itoa(app.ID) + "/source"
	v.want(429, "too large to keep", over(source, "do", "save", "filename", "a.txt", "text", strings.Repeat("x", 1<<20)))
}

// Signing in with a key counts for its user, like other requests with the key.
func TestConsoleSignInOverTheRate(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{RateLimit: 6})
	v := visit(t, s, "")
	v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var got shown
	for n := 0; n < 60 && got.status != http.StatusTooManyRequests; n++ { // one in ten seconds is allowed
		got = v.post("/console/session", "key", s.key)
	}
	v.want(429, "At most 6 requests a minute", got)
}

// Without the catalog, the other ways to an app still work.
func TestConsoleWithoutACatalog(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{Catalog: "https://127.0.0.1:1/catalog.json"})
	v := visit(t, s, s.key)
	v.want(200, "The catalog cannot be read now", v.get("/console/@current/apps/new"))
	v.want(400, `value="https://127.0.0.1:1/x"`, v.post("/console/@current/apps/new", "do", "git", "url", "https://127.0.0.1:1/x", "tag", strings.Repeat("x", 1000)))
	v.want(200, "Banner is created", v.post("/console/@current/apps/new", "do", "source", "name", "Banner"))
}

// A mail server that was never reached has refused nothing.
func TestConsoleMailServerAway(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, SMTP: "smtp+plain://127.0.0.1:1", MailFrom: "foyer@foyer.example"})
		v := visit(t, s, s.key)
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@x.example"}))(t)
		await := func(state string) {
			t.Helper()
			until(t, func() bool { return strings.Contains(v.get(invitesPage+"?delivery="+state).body, "ada@x.example") })
		}
		await("deferred")
		dbtest.Exec(t, dbtest.Open(t, url), `UPDATE jobs SET created_at = $1, run_at = $1 WHERE kind = 'invite_mail'`, time.Now().Add(-25*time.Hour))
		await("failed")
		v.want(200, "not mailed</span>: <bdi>connecting to the mail server: ", v.get(invitesPage))
	})
}

// Failures are logged in the same way for all faces, without keys or tokens.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url})
		d := dbtest.Open(t, url)
		for _, table := range []string{"keys", "invites"} {
			dbtest.Exec(t, d, "ALTER TABLE "+table+" RENAME TO lost_"+table)
		}
		key, token := access.NewKey(), strings.Repeat("t", 64)
		visit(t, s, "").post("/console/session", "key", key)
		browse(t, http.MethodGet, s.URL+"/invite/"+token, nil)
		browse(t, http.MethodGet, s.URL+"/api/users/@me", http.Header{"Authorization": {"Bearer " + key}})
		all := s.log.String()
		for _, want := range []string{
			`"method":"POST","path":"/console/session","client":"127.0.0.1","error":`, `"method":"GET","path":"/invite/{token}","client":"127.0.0.1","error":`, `"method":"GET","path":"/api/users/@me","client":"127.0.0.1","error":`,
		} {
			if !regexp.MustCompile(`"level":"ERROR","msg":"request failed","request_id":"[\w-]+",` + regexp.QuoteMeta(want)).MatchString(all) {
				t.Errorf("no line with %s", want)
			}
		}
		if t.Failed() || strings.Contains(all, key) || strings.Contains(all, token) {
			t.Error(all)
		}
	})
}

// Anything in a form that is not an id is not found.
func TestConsoleIDs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		v := visit(t, s, s.key)
		for _, id := range []string{"", ".", "..", "a/b", "@me", strings.Repeat("x", 1000)} {
			for _, do := range []string{"resend", "link", "withdraw"} {
				v.want(404, "Not found", v.post("/console/@current/invites", "do", do, "id", id))
			}
			if id := url.PathEscape(id); id != "" && !strings.Contains(id, ".") {
				v.want(404, "That did not work", v.post("/console/@current/members/"+id+"/role", "do", "level", "level", "1"))
				v.want(404, "That did not work", v.post("/console/@current/members/"+id+"/remove", "do", "remove"))
			}
			v.want(404, "Not found", v.post("/console/keys", "do", "revoke", "id", id))
		}
		if strings.Contains(s.log.String(), `"level":"ERROR"`) {
			t.Error(s.log.String())
		}
	})
}

// Who is no longer a member reads why there is no page, and gets back what they typed.
func TestConsoleOfNoMember(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	for _, id := range []string{"x", "01a22c67-ff7d-7552-874d-40b333124781"} {
		const why = "There is no such organization, or you are not a member of it."
		v.want(404, why, v.get("/console/"+id+"/apps"))
		sent := v.post("/console/"+id+"/invites/new", "do", "invite", "addresses", "eve@x.example", "message", "Come in.")
		v.want(404, why, sent)
		v.want(404, "\nCome in.</textarea>", sent)
	}
}
