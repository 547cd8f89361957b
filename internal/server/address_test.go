package server_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
)

// addressLinks waits for the mails to both addresses, and returns the paths of the links in them, by address.
func addressLinks(t *testing.T, mails *mailtest.Server) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	links := map[string]string{}
	for _, m := range must(mails.Wait(ctx, 2))(t) {
		link := regexp.MustCompile(`/address/[\w-]+`).FindString(m.Text(t))
		if !strings.Contains(m.HTML(t), link) {
			t.Errorf("the mail as HTML has another link:\n%s", m.HTML(t))
		}
		links[m.To[0]] = link
	}
	return links
}

// A user changes their address by a link in a mail, and the old address can undo the change.
func TestAddressChange(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s, mails := startMailing(t, config.Config{Database: url, Bootstrap: config.Bootstrap{Email: "ada@x.example"}})
		v, elsewhere := visit(t, s, s.key), visit(t, s, s.key)
		v.want(400, `aria-invalid="true" aria-describedby="faults email_note" value="ada"`, v.post("/console/profile", "do", "address", "email", "ada"))
		v.want(200, "Your address is ada@x.example already.", v.post("/console/profile", "do", "address", "email", "Ada@x。example"))
		v.want(200, "on its way to ada@new.example", v.post("/console/profile", "do", "address", "email", "ada@new.example"))
		links := addressLinks(t, mails)
		stranger := visit(t, s, "")
		for _, method := range []string{"GET", "HEAD", "GET"} { // as programs that scan mails do
			got := stranger.send(method, links["ada@new.example"], "")
			if got.status != 200 || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s: %d %v", method, got.status, got.header)
			}
		}
		if got := stranger.send("POST", links["ada@new.example"], "", "Sec-Fetch-Site", "cross-site"); got.status != 403 {
			t.Errorf("from another site: %d", got.status)
		}
		wantSelf(t, s, "ada@x.example")
		form := formNamed.FindStringSubmatch(stranger.get(links["ada@new.example"]).body)[1]
		for range 2 { // as a double click does
			if got := stranger.post(links["ada@new.example"], "form", form); got.status != 200 || !strings.Contains(got.body, "Your address is now") || got.header.Get("Set-Cookie") != "" {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		wantSelf(t, s, "ada@new.example")
		v.want(200, "ada@new.example", v.get("/console/profile"))
		elsewhere.want(401, "Sign in", elsewhere.get("/console"))
		stranger.want(404, "It was used already", stranger.post(links["ada@new.example"]))

		stranger.want(200, "It was not me", stranger.get(links["ada@x.example"]))
		wantSelf(t, s, "ada@new.example")
		stranger.want(200, "all keys are revoked", stranger.post(links["ada@x.example"]))
		v.want(401, "Sign in", v.get("/console"))
		if got := browse(t, http.MethodGet, s.URL+"/api/users/@me", http.Header{"Authorization": {"Bearer " + s.key}}); got.status != 401 {
			t.Errorf("the key still works: %d", got.status)
		}
		anybody := must(client.New(s.URL, ""))(t)
		check(t, anybody.RequestSignIn(t.Context(), "ada@x.example"))
		v.want(200, "overview", v.post(mailed(t, mails, 3)))
		for _, link := range links {
			if strings.Contains(s.log.String(), strings.TrimPrefix(link, "/address/")) {
				t.Error("the log has a link")
			}
		}
	})
}

// If a member changes to an address that has an invite, the invite is withdrawn, since nobody could accept it.
func TestAddressChangeWithdrawsInvites(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		mails := mailtest.Start(t, mailtest.Config{})
		s := start(t, config.Config{
			Database: url, SMTP: mails.URL(), MailFrom: "foyer@foyer.example", InviteLimit: 10, MailLimit: 10, Bootstrap: config.Bootstrap{Email: "ada@x.example"},
		})
		for _, email := range []string{"ada@new.example", "eve@x.example"} {
			must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: email, SendEmail: new(false)}))(t)
		}
		c := must(client.New(s.URL, s.key))(t)
		must(c.ChangeSelf(t.Context(), client.SelfPatch{Email: new("ada@new.example")}))(t)
		confirm := addressLinks(t, mails)["ada@new.example"]
		if got := visit(t, s, "").post(confirm); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
		left := must(s.ListInvites(t.Context(), client.InviteFilter{}, client.Range{}))(t)
		if left.Count != 1 || left.Results[0].TargetEmail != "eve@x.example" {
			t.Errorf("%+v", left)
		}
	})
}

func wantSelf(t *testing.T, s *running, email string) {
	t.Helper()
	c := must(client.New(s.URL, s.key))(t)
	if u := must(c.Self(t.Context()))(t); u.Email != email {
		t.Errorf("%s, want %s", u.Email, email)
	}
}

// A link that is unknown leads to a page that helps.
func TestNoChangeOfAddress(t *testing.T) {
	t.Parallel()
	v := visit(t, start(t, config.Config{}), "")
	for _, path := range []string{"/address", "/address/x"} {
		v.want(404, "is not complete", v.get(path))
	}
}
