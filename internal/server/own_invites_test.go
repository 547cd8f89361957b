package server_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/oidc/oidctest"
)

// answer posts the form of one of the invites on a page.
func (v *visitor) answer(page shown, organization, do string, form ...string) shown {
	v.Helper()
	_, section, ok := strings.Cut(page.body, "<bdi>"+organization+"</bdi></h2>")
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(section)
	if !ok || id == nil {
		v.Fatalf("no invitation to %s on %s:\n%s", organization, page.path, page.body)
	}
	path, _, _ := strings.Cut(page.path, "?")
	return v.post(path, append(form, "id", id[1], "do", do, "last_name", "Ofhers")...)
}

// inviteFrom makes an invite from a new organization.
func inviteFrom(t *testing.T, cfg config.Config, s *running, organization, email string) client.Invite {
	t.Helper()
	_, key := joinElsewhere(t, cfg, "host@"+strings.ToLower(organization)+".example")
	theirs := s.as(t, key)
	must(theirs.Change(t.Context(), client.OrganizationPatch{Name: &organization}))(t)
	return must(theirs.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: email, FirstName: "Eve", Message: "Come in!"}))(t)
}

// An invited person signs in by the identity provider before they are a user. Nothing is stored before they accept.
func TestGuestByProvider(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, p := withProvider(t, url)
		cfg := config.Config{Database: url}
		d := dbtest.Open(t, url)
		wantMade := func(users, others int) {
			t.Helper()
			for table, want := range map[string]int{"users": users, "sessions": others, "identities": others} {
				if n := must(db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM `+table))(t); n != want {
					t.Errorf("%d %s, want %d", n, table, want)
				}
			}
		}
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example"}))(t)
		inviteFrom(t, cfg, s, "Umbrella", "eve@x.example")
		before := must(db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users`))(t)
		p.Behave(oidctest.Behaviour{Claims: map[string]any{"sub": "eve", "email": "Eve@x.example"}})
		v := visit(t, s, "")
		page := v.get("/console/session/oidc?then=/console/keys")
		v.want(200, "<bdi>eve@x.example</bdi></strong>. Nothing happens", page)
		v.want(200, "Come in!", page)
		if page.path != "/console/guest" {
			t.Errorf("got to %s", page.path)
		}
		wantMade(before, 0)
		v.want(401, "Sign in", v.get("/console"))
		open := page
		page = v.answer(open, "Umbrella", "decline")
		v.want(200, "You have declined the invitation.", page)
		v.lacks(200, "Umbrella", page)
		for _, do := range []string{"accept", "decline"} { // in another tab
			late := v.answer(open, "Umbrella", do)
			v.want(404, "It is gone", late)
			v.want(404, "the invitation to My organization", late)
		}
		wantMade(before, 0)
		stranger := visit(t, s, "")
		stranger.want(401, "Your time to answer is over", stranger.get("/console/guest"))
		if got := v.send("POST", "/console/guest", "do=accept", "Sec-Fetch-Site", "cross-site"); got.status != 403 {
			t.Errorf("from another site: %d", got.status)
		}
		refused := v.answer(page, "My organization", "accept", "first_name", strings.Repeat("x", 50))
		v.want(400, `<li><a href="#first_name">First name: Must be at most 30 characters long, not 50.`, refused)
		v.want(400, `id="first_name" name="first_name" aria-invalid="true" aria-describedby="faults" value="xxx`, refused)
		v.want(400, `value="Ofhers"`, refused)
		wantMade(before, 0)
		accepted := v.answer(refused, "My organization", "accept", "first_name", "Eve \xff")
		v.want(200, "overview", accepted)
		v.want(200, "You have accepted the invitation: you are in.", accepted)
		wantMade(before+1, 1)
		for _, second := range []shown{v.get("/console/guest"), v.answer(page, "My organization", "accept")} { // from another tab
			v.want(200, "You are signed in already.", second)
			v.want(200, "There are no invitations for you now", second)
		}
		v.want(200, "value=\"Eve \uFFFD\"", v.get("/console/profile"))
		v.want(200, "identity provider", v.get("/console/sessions"))
		again := visit(t, s, "")
		again.want(200, "overview", again.get("/console/session/oidc"))
	})
}

// If a browser sends an answer twice, it shows the answer to the second request, which has the cookies of the first.
func TestGuestAnswersTwice(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		s, p := withProvider(t, database)
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example"}))(t)
		inviteFrom(t, config.Config{Database: database}, s, "Umbrella", "eve@x.example")
		p.Behave(oidctest.Behaviour{Claims: map[string]any{"sub": "eve", "email": "eve@x.example"}})
		v, second := visit(t, s, ""), visit(t, s, "")
		open := v.get("/console/session/oidc")
		here := must(url.Parse(s.URL + "/console"))(t)
		form := formNamed.FindStringSubmatch(open.body)[1]
		for _, tc := range []struct{ organization, do, want string }{
			{"Umbrella", "decline", "You have declined the invitation."},
			{"My organization", "accept", "You have accepted the invitation: you are in."},
		} {
			second.http.Jar.SetCookies(here, v.http.Jar.Cookies(here))
			v.want(200, tc.want, v.answer(open, tc.organization, tc.do, "form", form))
			second.want(200, tc.want, second.answer(open, tc.organization, tc.do, "form", form))
		}
		second.want(200, "eve@x.example", second.get("/console/profile"))
	})
}

// A guest is no other user, whoever was signed in to the browser before.
func TestGuestInSomebodysBrowser(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, p := withProvider(t, url)
		link := s.handed(t, "eve@x.example")
		p.Behave(oidctest.Behaviour{Claims: map[string]any{"sub": "eve", "email": "eve@x.example"}})
		v := visit(t, s, s.key)
		open := v.get("/console/session/oidc")
		v.want(200, "<bdi>eve@x.example</bdi></strong>. Nothing happens", open)
		v.want(200, "Accept as <bdi>eve@x.example</bdi>", v.get(link))
		v.want(401, "Sign in", v.get("/console"))
		left := v.answer(open, "My organization", "decline")
		v.want(200, "There are no invitations for you now.", left)
		v.lacks(200, "verified", left)
	})
}

// The same works by a link in a mail; the invite's own page also knows a guest.
func TestGuestByMail(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, mails := startMailing(t, config.Config{Database: url})
		invite := must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example"}))(t)
		handed := must(s.LinkInvite(t.Context(), invite.ID))(t)
		mailed(t, mails, 1) // the invite
		anybody := must(client.New(s.URL, ""))(t)
		for _, email := range []string{"nobody@x.example", "eve@x.example"} {
			check(t, anybody.RequestSignIn(t.Context(), email))
		}
		link := mailed(t, mails, 2)
		v := visit(t, s, "")
		v.want(200, "<bdi>eve@x.example</bdi></strong>. Nothing happens", v.post(link))
		v.want(404, "sign in at the console. Members", v.get("/invite/"+strings.Repeat("x", 64)))
		if again := v.post(link); again.status != 404 {
			t.Errorf("the link works twice: %d", again.status)
		}
		path := strings.TrimPrefix(handed.URL, s.URL)
		v.want(200, "Accept as <bdi>eve@x.example</bdi>", v.get(path))
		v.lacks(200, "Accept as", visit(t, s, "").get(path))
		accepted := v.post(path, "answer", "accept")
		v.want(200, "You are signed in", accepted)
		v.lacks(200, "foy_", accepted)
		v.want(200, "overview", v.get("/console"))
		v.want(200, "verified: a mail", v.get("/console/profile"))
		v.post("/console/session/end")
		if got := v.get("/console/guest"); got.status != 401 {
			t.Errorf("still a guest: %d", got.status)
		}
	})
}

// A user who signs in first sees the invites to their verified address, and continues from there.
func TestOwnInvitesInTheConsole(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, _ := withProvider(t, url)
		cfg := config.Config{Database: url}
		inviteFrom(t, cfg, s, "Umbrella", "ada@x.example")
		v := visit(t, s, s.key)
		v.want(200, "no invitations for you now", v.get("/console/invitations")) // the address is not verified
		page := v.get("/console/session/oidc?then=/console/keys")
		v.want(200, "<bdi>ada@x.example</bdi></strong>. Nothing happens", page)
		v.want(200, `href="/console/keys">Go on`, page)
		v.lacks(200, `name="first_name"`, page)
		entered := v.answer(page, "Umbrella", "accept")
		v.want(200, "You are in: this is Umbrella.", entered)
		v.want(200, `<nav aria-label="Umbrella">`, entered)
		v.want(200, `data-label="Created"><time`, v.get("/console")) // the organization, earlier than the membership
		v.want(200, "no invitations for you now", v.get("/console/invitations"))
		v.want(404, "It is gone", v.post("/console/invitations", "id", nobody, "do", "accept"))
		for _, do := range []string{"accept", "decline"} {
			v.want(404, "That did not work", v.post("/console/invitations", "id", "", "do", do))
		}

		second := inviteFrom(t, cfg, s, "Cyberdyne", "ada@x.example")
		sent := visit(t, s, "").post("/console/session", "key", s.key, "then", "/console/keys", "sent", "name=CI") // the form comes first
		v.want(200, `<form method="post" action="/console/keys">`, sent)
		v.want(200, "You have declined", v.answer(v.get("/console/invitations"), "Cyberdyne", "decline"))
		if _, err := s.LinkInvite(t.Context(), second.ID); err == nil {
			t.Error("the invite is still there")
		}
	})
}

// A link that was passed on by hand to a user works once they are signed in.
func TestHandedLinkOfAUser(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, Bootstrap: config.Bootstrap{Email: "ada@x.example"}})
		key := ownerElsewhere(t, config.Config{Database: url})
		theirs := s.as(t, key)
		name := "Umbrella"
		must(theirs.Change(t.Context(), client.OrganizationPatch{Name: &name}))(t)
		for _, do := range []string{"decline", "accept"} {
			path := theirs.handed(t, "ada@x.example")
			for way, other := range map[string]*visitor{`href="/console">Sign in</a>`: visit(t, s, ""), "<button>Sign out</button>": visit(t, s, key)} {
				for _, got := range []shown{other.get(path), other.post(path, "answer", do)} {
					other.want(403, way, got)
				}
			}
			v := visit(t, s, s.key)
			v.want(200, "Accept as <bdi>ada@x.example</bdi>", v.get(path))
			v.lacks(200, "foy_", v.post(path, "answer", do))
			v.want(404, "This link does not work", v.get(path))
		}
		declined := must(theirs.ListAudit(t.Context(), client.AuditFilter{Activity: "declined"}, client.Range{}))(t)
		if declined.Count != 1 || declined.Results[0].User.Email != "ada@x.example" || declined.Results[0].RequestID == "" {
			t.Errorf("%+v", declined)
		}
		v := visit(t, s, s.key)
		v.want(200, "Umbrella", v.get("/console"))
	})
}

// A user who is signed in with a key that cannot accept a link that was passed on by hand is told what can.
func TestHandedLinkOfAUserWithABoundKey(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url, Bootstrap: config.Bootstrap{Email: "ada@x.example"}})
		path := s.as(t, ownerElsewhere(t, config.Config{Database: url})).handed(t, "ada@x.example")
		bound := must(must(client.New(s.URL, s.key))(t).CreateKey(t.Context(), client.KeyDraft{
			Scopes: []string{"*"}, OrganizationID: must(s.Get(t.Context()))(t).ID,
		}))(t)
		v := visit(t, s, bound.APIKey)
		for _, page := range []shown{v.get(path), v.post(path, "answer", "accept")} {
			v.want(403, "You are signed in with a key that cannot accept invitations", page)
		}
	})
}

// A user's link that is opened in another user's browser makes its user a member, and leads them to sign in there.
func TestLinkOfAUserInSomebodysBrowser(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		mails := mailtest.Start(t, mailtest.Config{})
		cfg := config.Config{Database: url, SMTP: mails.URL(), MailFrom: "foyer@foyer.example"}
		s := start(t, cfg)
		key := ownerElsewhere(t, cfg)
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "eve@x.example"}))(t)
		path := mailed(t, mails, 1)
		v := visit(t, s, s.key)
		page := v.post(path, "answer", "accept")
		v.want(200, "signed in here as <bdi>grace@acme.example</bdi>: sign out, then sign in as <bdi>eve@x.example</bdi>", page)
		v.lacks(200, "Sign in</a>", page)
		v.want(401, "Sign in", v.post("/console/session/end"))
		v.want(200, "My organization", v.post("/console/session", "key", key))
	})
}

// A user who opens another person's link sees who will be signed in if they accept.
func TestLinkOfAnother(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		path := s.handed(t, "eve@x.example")
		v := visit(t, s, s.key)
		const said = "You are signed in here as <bdi>grace@acme.example</bdi>. Accepting signs you in as <bdi>eve@x.example</bdi> instead."
		v.want(200, said, v.get(path))
		v.want(400, said, v.post(path, "answer", "accept", "last_name", "www.evil.example"))
		v.lacks(200, "signed in here", visit(t, s, "").get(path))
		v.post(path, "answer", "accept")
		v.want(200, "eve@x.example", v.get("/console/profile"))
		v.want(404, "sign in at the console; if you have no key, ask", v.get(path))
	})
}
