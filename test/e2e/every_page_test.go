package e2e

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/client"
)

// everyPage checks each page that an owner can reach by links.
func everyPage(d *desk) {
	hook := client.WebhookPatch{URL: new("https://hooks.acme.example/a-rather-long-path/for-events"), Events: []string{"app.*"}}
	if _, err := d.o.CreateWebhook(d.Context(), hook); err != nil {
		d.Fatal(err)
	}
	d.crawl(40, "/console", "/console/@current/search?q=b")
}

// readDocs chooses the language of all samples, which name the organization. With script, the choice is remembered.
func readDocs(d *desk) {
	shows := func(want, not string, steps ...step) {
		d.Helper()
		if shown := look(d.tab, d.T, "docs", "Apps", steps...); !strings.Contains(shown, want) || strings.Contains(shown, not) {
			d.Errorf("%s is shown: %t; %s: %t", want, strings.Contains(shown, want), not, strings.Contains(shown, not))
		}
	}
	organization, err := d.o.Get(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	reference := to(d.i.url + "/docs/reference/apps")
	curl, call := `curl "`+d.i.url+"/api/organizations/"+organization.ID, `c.Organization("`+organization.ID+`")`
	shows(curl, call, reference)
	shows(call, curl, chromedp.Click(`//label[contains(., "Go")]`))
	if d.script {
		shows(call, curl, reference)
	}
	shows("foyer app list", call, chromedp.Click(`//label[contains(., "Command line")]`))
	shows("await fetch(", curl, chromedp.Click(`//label[contains(., "TypeScript")]`))
	accessible(d.tab, d.T, "docs", d.script, appearances[d.script]...)
}

// everyPublicPage checks the pages for everybody.
func everyPublicPage(d *desk) {
	d.sees("Sign in", nil, to(d.i.url+"/console"), person(), press("Sign out"))
	d.crawl(13, "/console", "/console/nowhere", "/docs", "/docs/reference/objects", "/docs/reference/sites", "/docs/operating", "/docs/search?q=invite",
		"/invite", "/invite/wrong", "/signin", "/signin/wrong", "/address", "/address/wrong")
}

// crawl checks pages and all that they link to, one of each kind, in both sizes, light and dark. There must be at least
// so many kinds.
func (d *desk) crawl(most int, ahead ...string) {
	how := []appearance{{width: 1366, scheme: "light"}, {width: 1366, scheme: "dark"}, {width: 390, scheme: "light"}, {width: 390, scheme: "dark"}}
	if d.script {
		how = append(how, appearance{width: 1366, scheme: "light", forced: true})
	}
	seen := map[string]bool{}
	for len(ahead) > 0 {
		page := ahead[0]
		ahead = ahead[1:]
		if seen[kindOf(page)] {
			continue
		}
		seen[kindOf(page)] = true
		if err := chromedp.Do(d.tab, to(d.i.url+page)); err != nil {
			d.Fatalf("%s: %v", page, err)
		}
		accessible(d.tab, d.T, kindOf(page), d.script, how...)
		links, err := chromedp.Run(d.tab, chromedp.Evaluate[[]string](`[...document.links].filter((a) => a.origin === location.origin).map((a) => a.pathname + a.search)`))
		if err != nil {
			d.Fatalf("%s: %v", page, err)
		}
		ahead = append(ahead, slices.DeleteFunc(links, elsewhere.MatchString)...)
	}
	if len(seen) < most {
		d.Errorf("only %d kinds of pages are seen", len(seen))
	}
}

var (
	ids = regexp.MustCompile(`/([0-9a-f-]{36}|@current|\d+|[A-Z0-9]{26})\b`)
	// elsewhere matches links out of the console: downloads, the documentation, and those that begin a session.
	elsewhere = regexp.MustCompile(`^/(docs|openapi)|/(zip|export|session)\b`)
)

// kindOf returns what pages of one kind have in common: their path without ids, and the names in the query.
func kindOf(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return page
	}
	return ids.ReplaceAllString(u.Path, "/*") + "?" + strings.Join(slices.Sorted(maps.Keys(u.Query())), "&")
}

// answerInvitation declines one invite and accepts another, by the links in the mails.
func answerInvitation(d *desk) {
	decline, accept := d.invite("eve@x.example"), d.invite("alan@x.example")
	d.sees("Join", []string{"eve@x.example"}, to(decline))
	d.sees("You have not joined", nil, click("decline"))
	d.sees("Join", nil, to(accept))
	d.sees("Join", []string{"Must be a name"}, fill("last_name", "www.evil.example"), click("accept"), waitFor(".alert"))
	d.sees("Welcome", nil, fill("last_name", "Turing"), click("accept"))
	d.sees("This link does not work", nil, to(accept))
	d.sees("Sign in", nil, to(d.i.url+"/console"), person(), press("Sign out"))
}

// comeAsGuest signs in somebody who has only been invited.
func comeAsGuest(d *desk) {
	d.invite("guest@x.example")
	d.sees("Check your mail", nil, fill("email", "guest@x.example"), press("Mail me a link"))
	d.sees("Your invitations", []string{"My organization"}, to(d.mailed("guest@x.example", `/signin/[\w-]+`)), press("Sign in"))
	d.sees("My organization", nil, click("accept"))
}

// invite invites somebody, and returns the link in the mail.
func (d *desk) invite(email string) string {
	d.Helper()
	if _, err := d.o.CreateInvite(d.Context(), client.InviteDraft{TargetEmail: email}); err != nil {
		d.Fatal(err)
	}
	return d.mailed(email, `/invite/[\w-]{64}`)
}

// mailed returns the link in a mail to somebody, once the mail has arrived.
func (d *desk) mailed(email, link string) string {
	d.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause() {
		for _, mail := range d.smtp.Mails() {
			if found := regexp.MustCompile(link).FindString(mail.Text(d)); found != "" && mail.To[0] == email {
				return d.i.url + found
			}
		}
	}
	d.Fatalf("no mail to %s", email)
	return ""
}
