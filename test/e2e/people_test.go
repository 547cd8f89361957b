package e2e

import (
	"context"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
)

// An invited person signs in by a link in a mail, accepts as a guest, and changes their address; nothing of these pages
// is cut off on a small screen.
func TestGuestInABrowser(t *testing.T) {
	t.Parallel()
	smtp := mailtest.Start(t, mailtest.Config{})
	s := newSettings(t, "sqlite", smtp.URL())
	s["LISTEN"] = dbtest.FreeAddress(t)
	s["BASE_URL"], s["MAIL_FROM"] = "http://"+s["LISTEN"], "foyer@foyer.example"
	i := launch(t, s)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/invites", `{"target_email":"ada@example.org","first_name":"Ada"}`, 201)
	link := func(n int, to, path string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		all, err := smtp.Wait(ctx, n)
		check(t, err)
		for _, m := range all[n-1:] {
			if m.To[0] == to {
				return i.url + regexp.MustCompile(path+`[\w-]+`).FindString(m.Text(t))
			}
		}
		return ""
	}
	link(1, "ada@example.org", "/invite/")
	ctx := browser(t)
	look(ctx, t, "guest-sign-in", "Sign in", chromedp.EmulateViewport(360, 900), to(i.url+"/console"))
	look(ctx, t, "guest-sent", "Check your mail", fill("email", "ada@example.org"), press("Mail me a link"))
	look(ctx, t, "guest-link", "Sign in", to(link(2, "ada@example.org", "/signin/")))
	look(ctx, t, "guest-invitations", "Your invitations", press("Sign in"))
	whole(ctx, t)
	look(ctx, t, "guest-in", "My organization", click("accept"))
	look(ctx, t, "guest-profile", "Profile", to(i.url+"/console/profile"))
	whole(ctx, t)
	look(ctx, t, "guest-asked", "Profile", fill("email", "ada@new.example.org"), click("address"))
	var confirm string
	for n := 3; n <= 4 && confirm == ""; n++ { // the other goes to the old address
		confirm = link(n, "ada@new.example.org", "/address/")
	}
	look(ctx, t, "guest-address", "Your new address", to(confirm))
	whole(ctx, t)
	look(ctx, t, "guest-changed", "Your address is now ada@new.example.org", leave(chromedp.Click(`//main//form//button`)))
	look(ctx, t, "guest-none", "Your invitations", to(i.url+"/console/invitations"))
	whole(ctx, t)
}

// whole checks that no part of a page is cut off.
func whole(ctx context.Context, t *testing.T) {
	t.Helper()
	cut, err := chromedp.Run(ctx, chromedp.Evaluate[int](`[document.documentElement, ...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).length`))
	if err != nil || cut != 0 {
		t.Errorf("%d parts are cut off, %v", cut, err)
	}
}
