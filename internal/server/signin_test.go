package server_test

import (
	"context"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/oidc/oidctest"
)

var formNamed = regexp.MustCompile(`name="form" value="(\w+)"`)

// mailed waits for the nth mail, and returns the path of the invite in it, or of the link that signs in.
func mailed(t *testing.T, mails *mailtest.Server, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := must(mails.Wait(ctx, n))(t)
	return regexp.MustCompile(`/(invite|signin)/[\w-]+`).FindString(got[n-1].Text(t))
}

func TestSignInByMail(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		mails := mailtest.Start(t, mailtest.Config{})
		cfg := config.Config{Database: url, SMTP: mails.URL(), MailFrom: "foyer@foyer.example", Bootstrap: config.Bootstrap{Email: "ada@x.example"}}
		s := start(t, cfg)
		anybody := must(client.New(s.URL, ""))(t)
		for _, email := range []string{"eve@x.example", "Ada@X.example"} {
			if err := anybody.RequestSignIn(t.Context(), email); err != nil {
				t.Errorf("%s: %v", email, err)
			}
		}
		path := mailed(t, mails, 1)
		v := visit(t, s, "")
		for _, method := range []string{"GET", "HEAD", "GET"} { // as programs that scan mails do
			got := v.send(method, path, "")
			if got.status != 200 || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") != "no-referrer" || got.header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %d %v", method, got.status, got.header)
			}
			if method == "GET" && !strings.Contains(got.body, "ada@x.example") {
				t.Error(got.body)
			}
		}
		for range 700 { // correct links do not count for the limit
			if got := v.get(path); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		v.want(403, "another site", v.send("POST", path, "", "Sec-Fetch-Site", "cross-site"))
		form := formNamed.FindStringSubmatch(v.get(path).body)[1]
		signedIn := v.post(path, "form", form)
		v.want(200, "overview", signedIn)
		other := visit(t, s, "")
		other.want(200, "overview", other.post(path, "form", form)) // as by the second request of a double click, whose answer the browser shows
		v.want(200, "link in a mail", v.get("/console/sessions"))
		v.want(200, `value="*"`, v.get("/console/keys"))
		for _, method := range []string{"GET", "POST"} {
			again := v.send(method, path, "", "Sec-Fetch-Site", "same-origin")
			v.want(404, "It was used already", again)
			v.want(404, `href="/console"`, again)
		}
		self := must(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{}))(t).Results[0].User
		if !self.IsEmailVerified {
			t.Errorf("%+v", self)
		}
		if n := len(mails.Mails()); n != 1 {
			t.Errorf("%d mails", n)
		}
		var links [2]string
		for i := range links {
			check(t, anybody.RequestSignIn(t.Context(), "ada@x.example"))
			links[i] = mailed(t, mails, 2+i)
		}
		if got := v.get(links[0]); got.status != 200 {
			t.Errorf("an earlier link: %d %s", got.status, got.body)
		}
		if all := s.log.String(); strings.Contains(all, strings.TrimPrefix(path, "/signin/")) || strings.Contains(all, "fos_") {
			t.Error("the log has a link or a session")
		}
	})
}

// A mailed link leads to the page that the user wanted to see, but only in the browser that requested the link.
func TestSignInByMailLeadsOn(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, mails := startMailing(t, config.Config{Database: url, Bootstrap: config.Bootstrap{Email: "ada@x.example"}})
		v, other := visit(t, s, ""), visit(t, s, "")
		const wanted = "/console/keys?offset=0"
		asked := regexp.MustCompile(`(?s)action="/console/session/mail">.*?name="then" value="([^"]*)"`).FindStringSubmatch(v.get(wanted).body)
		if asked == nil || html.UnescapeString(asked[1]) != wanted {
			t.Fatalf("the form asks for %q", asked)
		}
		for n, tc := range []struct {
			opens   *visitor
			then    string
			leadsTo string
		}{{v, wanted, wanted}, {other, wanted, ""}, {v, "https://evil.example/console/", ""}, {v, "//evil.example/console/", ""}} {
			sent := v.post("/console/session/mail", "email", "ada@x.example", "then", tc.then)
			v.want(202, "Check your mail", sent)
			v.lacks(202, "evil", sent)
			got := tc.opens.post(mailed(t, mails, n+1))
			if tc.leadsTo == "" {
				tc.opens.want(200, "overview", got)
			} else if got.path != tc.leadsTo {
				t.Errorf("%s leads to %s", tc.then, got.path)
			}
		}
	})
}

// A form that is sent twice mails one link: clicking does not use up the five links per hour of an address.
func TestSignInByMailIsAskedForOnce(t *testing.T) {
	t.Parallel()
	s, mails := startMailing(t, config.Config{Bootstrap: config.Bootstrap{Email: "ada@x.example"}})
	must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "bob@x.example", SendEmail: new(false)}))(t)
	v := visit(t, s, "")
	ask := func(email, form string) {
		t.Helper()
		v.want(202, "Check your mail", v.post("/console/session/mail", "email", email, "form", form))
	}
	form := formNamed.FindStringSubmatch(v.get("/console").body)[1]
	ask("ada@x.example", form)
	mailed(t, mails, 1)
	ask("ada@x.example", form)
	ask("bob@x.example", form) // the user corrects their address
	mailed(t, mails, 2)
	if sent := mails.Mails(); len(sent) != 2 || sent[1].To[0] != "bob@x.example" {
		t.Errorf("%d mails: %v", len(sent), sent)
	}
}

// A user who requests a link loses nothing that was kept for them.
func TestSignInByMailKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	s, _ := startMailing(t, config.Config{})
	v := visit(t, s, "")
	over := v.post("/console/@current/apps/new", "do", "source", "name", "Banner", "description", strings.Repeat("<", 20<<10))
	v.want(401, `action="/console/session/mail" target="_blank">`, over)
	sent := html.UnescapeString(regexp.MustCompile(`(?s)name="email".*?name="sent" value="([^"]*)"`).FindStringSubmatch(over.body)[1])
	mistyped := v.post("/console/session/mail", "email", "ada@", "then", "/console/@current/apps/new", "sent", sent)
	v.want(400, "What you sent is kept", mistyped)
	v.want(400, `name="then" value="/console/@current/apps/new"`, mistyped)
	v.want(400, "name=Banner", mistyped)
}

func TestSignInPage(t *testing.T) {
	t.Parallel()
	s, mails := startMailing(t, config.Config{Bootstrap: config.Bootstrap{Email: "ada@x.example"}, SignIn: []string{"mail"}})
	v := visit(t, s, "")
	page := v.get("/console")
	v.want(401, "Mail me a link", page)
	v.want(401, "Lost your key, or new here?", page)
	v.lacks(401, `name="key"`, page)
	v.want(403, "does not let users sign in with a key", v.post("/console/session", "key", s.key))
	sent := v.post("/console/session/mail", "email", "ada@x.example")
	v.want(202, "Check your mail", sent)
	v.want(202, "</bdi> belongs to a user here, or was invited, a mail with a link", sent)
	stranger := v.post("/console/session/mail", "email", "eve@x.example")
	if stranger.status != sent.status || strings.ReplaceAll(stranger.body, "eve@", "ada@") != sent.body {
		t.Errorf("a stranger gets another answer: %d %s", stranger.status, stranger.body)
	}
	mistyped := v.post("/console/session/mail", "email", "ada@")
	v.want(400, "Must be an e-mail address", mistyped)
	v.want(400, `value="ada@" aria-invalid="true" aria-describedby="fault"`, mistyped)
	v.want(403, "another site", v.send("POST", "/console/session/mail", "email=ada@x.example", "Sec-Fetch-Site", "cross-site"))
	v.want(200, "overview", v.post(mailed(t, mails, 1)))

	without := visit(t, start(t, config.Config{}), "")
	page = without.get("/console")
	without.want(401, "signin-link", page)
	without.lacks(401, "Mail me a link", page)
	without.want(403, "mails no links", without.post("/console/session/mail", "email", "ada@x.example"))
	without.want(404, "is not complete", without.get("/signin"))
}

// A user who accepts a mailed invite is signed in at once, also in old browsers, if there is another way to sign in
// than keys. A user whose link was passed on gets a key, and is signed in with it.
func TestAcceptedInABrowser(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, mails := startMailing(t, config.Config{Database: url})
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@x.example"}))(t)
		path := mailed(t, mails, 1)
		v := visit(t, s, "")
		for _, origin := range []string{"https://evil.example", "null"} {
			v.want(403, "another site", v.send("POST", path, "answer=accept", "Origin", origin))
		}
		accepted := v.send("POST", path, "answer=accept", "Origin", s.URL)
		v.want(200, "You are in", accepted)
		v.lacks(200, "foy_", accepted)
		v.want(200, "ada@x.example", v.get("/console/profile"))
		v.want(200, "link in a mail", v.get("/console/sessions"))
		v.lacks(200, `value="revoke"`, v.get("/console/keys"))

		handed := visit(t, s, "")
		accepted = handed.post(s.handed(t, "eve@x.example"), "answer", "accept")
		handed.want(200, "foy_", accepted)
		handed.want(200, "It ends when you first sign in by a link in a mail, which proves", accepted)
		handed.want(200, "Members", handed.get("/console/@current"))
	})
}

// If links by mail are off, a mailed invite does not sign anybody in; if keys are off, a key does not make a session.
func TestAcceptedWhereWaysAreOff(t *testing.T) {
	t.Parallel()
	provider := oidctest.Start(t).Settings("")
	mails := mailtest.Start(t, mailtest.Config{})
	s := start(t, config.Config{
		SMTP: mails.URL(), MailFrom: "foyer@foyer.example", SignIn: []string{config.ByProvider},
		OIDC: config.OIDC{Issuer: provider.Issuer, ClientID: provider.ClientID, ClientSecret: provider.ClientSecret, Name: "Acme"},
	})
	must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "ada@x.example"}))(t)
	path := mailed(t, mails, 1)
	for path, next := range map[string]string{
		path: "sign in with Acme, as this address", s.handed(t, "eve@x.example"): "It ends when you first sign in with Acme, which proves",
	} {
		v := visit(t, s, "")
		accepted := v.post(path, "answer", "accept")
		if !strings.Contains(accepted.body, "You are in") || !strings.Contains(accepted.body, next) || accepted.header.Get("Set-Cookie") != "" {
			t.Errorf("%d %v %s", accepted.status, accepted.header, accepted.body)
		}
		v.want(401, "Sign in", v.get("/console/sessions"))
	}
}

// A user who accepts a mailed invite and is not signed in by it learns how to sign in: new users by the provider,
// others as before.
func TestAcceptedToSignInByTheProvider(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		provider := oidctest.Start(t).Settings("")
		mails := mailtest.Start(t, mailtest.Config{})
		cfg := config.Config{
			Database: url, DataDir: t.TempDir(), SMTP: mails.URL(), MailFrom: "foyer@foyer.example", SignIn: []string{config.ByProvider, config.ByKey},
			OIDC: config.OIDC{Issuer: provider.Issuer, ClientID: provider.ClientID, ClientSecret: provider.ClientSecret, Name: "login.acme.example"},
		}
		s := start(t, cfg)
		joinElsewhere(t, cfg, "eve@x.example")
		for n, tc := range []struct{ email, want, not string }{
			{"ada@x.example", "sign in with login.acme.example, as this address", "account already"},
			{"eve@x.example", "You have an account already", "with login"},
		} {
			must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: tc.email}))(t)
			path := mailed(t, mails, n+1)
			v := visit(t, s, "")
			accepted := v.post(path, "answer", "accept")
			v.want(200, tc.want, accepted)
			v.lacks(200, tc.not, accepted)
		}
	})
}

// If a browser does not send Sec-Fetch-Site, the Origin header says where a form comes from.
func TestSignInFromAnOldBrowser(t *testing.T) {
	t.Parallel()
	s, mails := startMailing(t, config.Config{Bootstrap: config.Bootstrap{Email: "ada@x.example"}})
	v := visit(t, s, "")
	if page := v.get("/console").body; strings.Index(page, "autofocus") < strings.Index(page, `id="email"`) || strings.Count(page, "autofocus") != 1 {
		t.Errorf("the first way is not focused alone:\n%s", page)
	}
	v.send("POST", "/console/session/mail", "email=ada@x.example", "Origin", s.URL)
	path := mailed(t, mails, 1)
	if page := v.get(path).body; !strings.Contains(page, `<meta name="referrer" content="same-origin">`) { // otherwise Origin would be null
		t.Error(page)
	}
	for _, origin := range []string{"https://evil.example", "null"} {
		v.want(403, "another site", v.send("POST", path, "", "Origin", origin))
	}
	v.want(200, "overview", v.send("POST", path, "", "Origin", s.URL))
}

// Users whose address is not verified read how they can verify it on this server, if they can.
func TestConsoleSaysHowAnAddressIsVerified(t *testing.T) {
	t.Parallel()
	byProvider, _ := withProvider(t, onDisk(t).Database)
	byMail, _ := startMailing(t, config.Config{})
	for how, s := range map[string]*running{
		"": start(t, config.Config{}), ": a sign-in with Acme & Söhne verifies it": byProvider, ": a sign-in by a link in a mail verifies it": byMail,
	} {
		v := visit(t, s, s.key)
		v.want(200, "not verified"+how+"</span>", v.get("/console/profile"))
		v.want(200, "an address that is verified are shown"+how+".", v.get("/console/invitations"))
	}
}
