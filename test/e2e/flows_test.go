package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"foyer/client"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/oidc/oidctest"
	"foyer/internal/infra/upstream/upstreamtest"
)

// flows are what people do in the console: each begins where the one before ended.
var flows = []struct {
	name string
	run  func(*desk)
}{
	{"sign in by a key", byKey},
	{"first steps", firstSteps},
	{"edit with an error, and mend it", edit},
	{"roll back", rollBack},
	{"install", install},
	{"install from the catalog", installFromCatalog},
	{"values", values},
	{"upgrade with its difference", upgrade},
	{"disable", disable},
	{"withdraw a version", withdraw},
	{"a site's apps over time", sites},
	{"invite ten with one wrong", inviteTen},
	{"resend a failed one", resend},
	{"change a role", changeRole},
	{"make and revoke a key", keys},
	{"search and go", search},
	{"search everywhere", searchEverywhere},
	{"choose the language of the samples", readDocs},
	{"every page", everyPage},
	{"sign in by a link", byLink},
	{"sign in by a provider", byProvider},
	{"every page without signing in", everyPublicPage},
	{"answer an invitation", answerInvitation},
	{"come as a guest", comeAsGuest},
}

// TestFlows runs the flows with and without script. axe-core must find nothing on any page.
func TestFlows(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]bool{"with script": true, "without script": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sitDown(t, script)
			for _, f := range flows {
				if !t.Run(f.name, func(t *testing.T) { f.run(d.in(t)) }) {
					break // the next flow would begin elsewhere
				}
			}
		})
	}
}

// desk is a user's browser with the console, and the services that the server uses.
type desk struct {
	*testing.T
	i        *instance
	key      string // the owner's
	o        *client.Organization
	tab      context.Context //nolint:containedctx // chromedp keeps the tab in it
	script   bool
	smtp     *mailtest.Server
	upstream string // url of a repository with two tags
}

func sitDown(t *testing.T, script bool) *desk {
	t.Helper()
	host := upstreamtest.NewHost(t)
	repo := host.Repo(t, "banner")
	for tag, field := range map[string]string{"v1.0.0": "", "v1.1.0": `, {"key": "title", "name": "Title", "type": "string", "required": true, "site": true}`} {
		repo.Tag(t, tag, repo.Commit(t, map[string]string{
			"plugin.json": `{"name": "Banner", "config": [{"markdown": "How it looks"}, {"key": "n", "name": "Height", "type": "number", "default": 3, "site": true},
				{"key": "look", "name": "Look", "type": "choice", "choices": ["calm", "loud"], "default": "calm", "site": true, "hint": "Loud ones blink."}` + field + `]}`,
			"site.ts": "export function inject() { document.title = '" + tag + "' }\n",
		}))
	}
	listed := host.Repo(t, "clock")
	listed.Tag(t, "v2.0.0", listed.Commit(t, map[string]string{
		"plugin.json": `{"name": "Clock", "config": [{"key": "zone", "name": "Zone", "type": "string", "default": "UTC", "site": true}]}`,
		"site.ts":     "export function inject() {}\n", "README.md": "# Clock\n\nShows the **time**, see [how](https://clock.example).\n",
	}))
	catalog := filepath.Join(t.TempDir(), "catalog.json")
	check(t, os.WriteFile(catalog, []byte(`[{"name": "Clock", "url": "`+listed.URL+`", "description": "Shows the time.", "verified": true}]`), 0o600))
	provider := oidctest.Start(t)
	provider.Behave(oidctest.Behaviour{Claims: map[string]any{"email": "grace@acme.example"}})
	smtp := mailtest.Start(t, mailtest.Config{})
	s := newSettings(t, "sqlite", smtp.URL())
	s["LISTEN"] = dbtest.FreeAddress(t)
	s["BASE_URL"], s["MAIL_FROM"], s["UPSTREAM_ALLOW"] = "http://"+s["LISTEN"], "foyer@acme.example", "127.0.0.0/8"
	s["CATALOG"] = catalog
	p := provider.Settings("")
	s["OIDC_ISSUER"], s["OIDC_CLIENT_ID"], s["OIDC_CLIENT_SECRET"], s["OIDC_NAME"] = p.Issuer, p.ClientID, p.ClientSecret, "Acme"
	d := &desk{T: t, i: launch(t, s), key: s["BOOTSTRAP_KEY"], tab: browserFor(t, time.Hour), script: script, smtp: smtp, upstream: repo.URL}
	c, err := client.New(d.i.url, d.key)
	check(t, err)
	d.o = c.Organization(client.Current)
	check(t, chromedp.Do(d.tab, focused(), setScript(script), appear(appearance{width: 1366, scheme: "light"})))
	return d
}

// in returns the desk for a part of the test.
func (d *desk) in(t *testing.T) *desk {
	part := *d
	part.T = t
	return &part
}

// sees takes steps, and compares the resulting page.
func (d *desk) sees(heading string, texts []string, steps ...step) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.tab, patience)
	defer cancel()
	done := false
	defer func() {
		if !done { // the page that is there instead
			text, err := chromedp.Run(d.tab, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
			d.Log(text, err)
		}
	}()
	shown := look(ctx, d.T, "flow-"+strings.ReplaceAll(heading, " ", "-"), heading, steps...)
	done = true
	for _, want := range texts {
		if !strings.Contains(shown, want) {
			d.Errorf("%s does not show %q:\n%s", heading, want, shown)
		}
	}
	accessible(d.tab, d.T, heading, d.script, appearances[d.script]...)
}

// to goes to a page of the organization.
func (d *desk) to(path string) step { return to(d.i.url + "/console/@current" + path) }

// types writes the text of a file: into the editor if there is script.
func (d *desk) types(text string) step {
	if d.script {
		return write(text)
	}
	return fill("text", text)
}

func byKey(d *desk) {
	d.sees("Sign in", []string{"Sign in with Acme", "With a link in a mail"}, to(d.i.url+"/console"))
	d.sees("Sign in", []string{"The API key is not valid"}, fill("key", "foy_wrong"), press("Sign in"), waitFor(".alert"))
	d.sees("My organization", []string{"First steps"}, fill("key", d.key), press("Sign in"))
}

func firstSteps(d *desk) {
	d.sees("Add an app", nil, follow("Add an app of your own"))
	d.sees("site.ts", []string{"Hello is created", "Create a site for it"}, fill("name", "Hello"), press("Create the app"))
	d.sees("site.ts", []string{"site.ts is saved."}, d.types("export function inject() {}\n"), press("Save"))
	d.sees("Sites", []string{"There are no sites yet."}, follow("Sites"))
	d.sees("Shop", []string{"Shop is created.", "<script async src="}, fill("name", "Shop"), press("Create the site"))
	d.sees("Hello", []string{"Hello is on the site, and runs."}, press("Put it on the site"))
	d.sees("My organization", []string{"Add a site of your own, whose pages run apps\n(done)"}, follow("Overview"))
}

func edit(d *desk) {
	d.sees("Hello", []string{"compiled"}, follow("Apps"), follow("Hello"))
	d.sees("site.ts", nil, follow("site.ts"))
	d.sees("site.ts", []string{"It does not compile.", "Line 2, column 18"}, d.types("export function inject() {}\nexport const no: =\n"), fill("message", "Broken"), press("Save"), waitFor(".alert"))
	d.sees("Hello", []string{"does not compile"}, follow("Hello"))
	d.sees("site.ts", []string{"site.ts is saved."}, follow("site.ts"), d.types("export function inject() { document.title = \"Hello\" }\n"), fill("message", "Mended"), press("Save"), chromedp.WaitNotPresent(chromedp.CSS(".alert")))
}

func rollBack(d *desk) {
	d.sees("Hello", []string{"4 current", "Mended"}, follow("Hello"))
	d.sees("Version 2", nil, follow("2"))
	d.sees("Hello", []string{"Hello is now at version 2."}, press("Roll back to this version"))
}

func install(d *desk) {
	d.sees("Add an app", []string{"Clock"}, follow("Apps"), follow("Add an app"))
	d.sees("Add an app", nil, follow("Git repository"))
	d.sees("Add an app", []string{"Repository: The url must start"}, fill("url", "ssh://x"), pressIn("url"), waitFor(".alert"))
	d.sees("Banner", []string{"Banner is installed.", "the newest is v1.1.0"}, fill("url", d.upstream), fill("tag", "v1.0.0"), pressIn("url"))
}

func installFromCatalog(d *desk) {
	d.sees("Add an app", []string{"Shows the time."}, follow("Apps"), follow("Add an app"))
	d.sees("Add an app", []string{"No app of the catalog matches."}, chromedp.SetValue(chromedp.CSS("main input[type=search]"), "xyz"), press("Search"))
	d.sees("Clock", []string{"Readme", "Shows the time, see how.", "Zone", "v2.0.0"}, follow("Show all"), follow("Clock"))
	d.sees("Clock", []string{"Clock is installed.", "Put it on Shop"}, press("Install v2.0.0"))
	d.sees("Add an app", []string{"installed"}, follow("Apps"), follow("Add an app"))
	d.sees("Clock", []string{"installed"}, follow("Clock"))
	d.sees("Clock", []string{"Put it on Shop"}, follow("Go to the app"))
	d.sees("Clock", []string{"Clock is on the site, and runs."}, follow("Apps"), follow("Clock"), press("Put it on Shop"))
	d.sees("Banner", nil, follow("Apps"), follow("Banner"))
}

// pressIn submits the form of a field.
func pressIn(id string) step {
	return leave(chromedp.Click(`//form[.//input[@id="` + id + `"]]//button[not(@type="button")]`))
}

func values(d *desk) {
	d.sees("Banner", []string{"How it looks", "Loud ones blink.", "Left empty, a field has its default."}, press("Put it on Shop"))
	d.sees("Banner", []string{"Height: Must be a number such as 1.5."}, fillNamed("config.n", "high"), fillNamed("config.look", `"loud"`), press("Save"), waitFor(".alert"))
	d.sees("Banner", []string{"Banner runs version 1 on Shop now."}, fillNamed("config.n", "7"), press("Save"), waitFor(".flash"))
	d.sees("Banner", []string{"This is what you typed."}, fillNamed("config.n", "8"), press("Preview"), waitFor(".flash"))
}

// fillNamed fills a field whose id has dots.
func fillNamed(name, text string) step {
	return chromedp.SetValue(chromedp.CSS(`[name="`+name+`"]`), text)
}

func upgrade(d *desk) {
	d.sees("Banner", []string{"Height", "7"}, follow("Files and versions"))
	d.sees("Upgrade Banner", []string{"Title", "new, required", "Sites keep the version they run", "v1.1.0' }"}, follow("Review the upgrade to v1.1.0"))
	d.sees("Banner", []string{"Banner is now at v1.1.0.", "Version 2 waits for a value: title"}, press("Upgrade to v1.1.0"))
	d.sees("Upgrade Banner", []string{"It is at v1.1.0 already"}, follow("Upgrade, or go to another tag"))
	d.sees("Banner", nil, follow("Back to the app"))
}

func disable(d *desk) {
	d.sees("Banner", []string{"Reason: "}, open("Disable the app"), fill("reason", " "), press("Disable it"), waitFor("#faults"))
	d.sees("Banner", []string{"Banner is disabled", "It leaks."}, fill("reason", "It leaks."), press("Disable it"), waitFor(".flash"))
	d.sees("Apps", []string{"disabled"}, follow("Apps"))
	d.sees("Banner", []string{"Banner is enabled."}, follow("Banner"), press("Enable it again"), chromedp.WaitNotPresent(chromedp.CSS(".alert .small")))
}

func withdraw(d *desk) {
	d.sees("Version 1", []string{"v1.0.0' }"}, follow("1"))
	d.sees("Version 1", []string{"Version 1 is withdrawn"}, fill("reason", "It blinks."), press("Withdraw version 1"), waitFor(".flash"))
	d.sees("Version 1", []string{"Version 1 is restored."}, press("Restore version 1"), chromedp.WaitNotPresent(chromedp.CSS(".alert")))
}

func sites(d *desk) {
	d.sees("Shop", []string{"Banner", "Hello"}, follow("Sites"), follow("Shop"))
	d.sees("Shop", []string{"Banner is now at position 2."}, chromedp.Steps(leave(chromedp.Click(`//button[@aria-label="Move Banner up"]`)), waitFor(".flash")))
	d.sees("History", []string{"now"}, follow("History"))
	d.sees("History", nil, leave(chromedp.Click(`//button[@aria-label="Restore revision 2"]`)), waitFor(".flash"))
	d.sees("Shop", []string{"off"}, follow("Shop"), press("Switch the site off"), waitFor("h1 .tag.bad"))
	d.sees("Shop", nil, press("Switch the site on"), chromedp.WaitNotPresent(chromedp.CSS("h1 .tag.bad")))
}

func inviteTen(d *desk) {
	var addresses []string
	for n := range 9 {
		addresses = append(addresses, fmt.Sprintf("guest%d@x.example", n))
	}
	d.smtp.Script(mailtest.RefuseRecipient(550, "no such user"))
	d.sees("Invite people", nil, follow("Invites"), follow("Invite people"))
	d.sees("Invite people", []string{"The mail to guest0@x.example"}, fill("addresses", "guest0@x.example"), press("Preview the mail"), waitFor(".mail"))
	d.sees("9 invited, 1 not", []string{"guest8@x.example", "Must be an e-mail address"}, fill("addresses", strings.Join(append(addresses, "nobody"), "\n")), press("Invite"), waitFor("table"))
}

func resend(d *desk) {
	failed := func() bool {
		found, err := d.o.ListInvites(d.Context(), client.InviteFilter{Delivery: "failed"}, client.Range{})
		return err == nil && found.Count == 1
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && !failed(); pause() {
	}
	d.sees("Invites", []string{"no such user"}, follow("Invites"), d.to("/invites?status=pending&delivery=failed"))
	d.sees("Invites", []string{"A new link is on its way"}, chromedp.Click(chromedp.CSS(`td input[type=checkbox]`)), leave(chromedp.Click(chromedp.CSS(`button[form=chosen][value=resend]`))), waitFor(".flash"))
}

func changeRole(d *desk) {
	join(d.T, d.i.url, d.key, client.InviteDraft{TargetEmail: "ada@x.example", FirstName: "Ada"})
	d.sees("Members", []string{"ada@x.example"}, follow("Members"))
	d.sees("Change the role of Ada", nil, follow("Change role of ada@x.example"))
	d.sees("Members", []string{"Ada is now an admin."}, chromedp.Click(chromedp.CSS(`input[name=level][value=admin], input[name=level][value="8"]`)), press("Change role"), waitFor(".flash"))
	d.sees("Remove Ada", []string{"They lose access at once"}, follow("Remove ada@x.example"))
}

// join makes somebody a member: by the link of an invite, which the holder of a key creates.
func join(t *testing.T, url, key string, draft client.InviteDraft) {
	t.Helper()
	c, err := client.New(url, key)
	check(t, err)
	o := c.Organization(client.Current)
	invite, err := o.CreateInvite(t.Context(), draft)
	check(t, err)
	link, err := o.LinkInvite(t.Context(), invite.ID)
	check(t, err)
	if _, err := c.AcceptInvitation(t.Context(), regexp.MustCompile(`[\w-]{64}`).FindString(link.URL), client.Names{}); err != nil {
		t.Fatal(err)
	}
}

func keys(d *desk) {
	d.sees("Your keys", nil, person(), follow("Your keys"))
	d.sees("Your keys", []string{"Scopes: "}, press("Create the key"), waitFor(".alert"))
	d.sees("Your new key", []string{"foy_"}, fill("name", "reports"), chromedp.Click(chromedp.CSS(`input[value="plugin:read"]`)), press("Create the key"))
	d.sees("Your keys", []string{"reports"}, to(d.i.url+"/console/keys"))
	d.sees("Your keys", []string{"revoked"}, open("Revoke reports"), press("Revoke reports"), waitFor(".flash"))
}

func search(d *desk) {
	d.sees("Apps", nil, d.to("/apps"))
	d.sees("Apps", []string{"Banner", "Show all"}, chromedp.SetValue(chromedp.CSS("main input[type=search]"), "ban"), press("Search"))
	d.sees("Apps", []string{"No app matches."}, chromedp.SetValue(chromedp.CSS("main input[type=search]"), "x"), press("Search"))
	d.sees("Banner", nil, follow("Show all"), follow("Banner"))
}

// searchEverywhere finds things by a part of their names: with script, while it is typed.
func searchEverywhere(d *desk) {
	finder := chromedp.CSS(".finder input")
	if d.script {
		d.closesSuggestions()
		d.sees("Shop", nil, chromedp.SendKeys(finder, "sho"), waitFor(".finder .found a"), leave(chromedp.Click(chromedp.CSS(".finder .found a[href*='/sites/']"))))
	}
	d.sees("Search", []string{"Members", "ada@x.example"}, chromedp.SendKeys(finder, "ada"), leave(chromedp.SendKeys(finder, "\r")))
	d.sees("Search", []string{"Nothing found."}, chromedp.SetValue(chromedp.CSS("main input[type=search]"), "xyzzy"), press("Search"))
	d.sees("Search", []string{"Shop"}, chromedp.SetValue(chromedp.CSS("main input[type=search]"), "sho"), press("Search"))
	d.sees("Shop", nil, follow("Shop"))
}

// closesSuggestions closes the suggestions of the search before its answer has arrived. They must then stay closed.
func (d *desk) closesSuggestions() {
	evaluate := func(script string) step {
		return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => { `+script+`; return true })()`))
			return err
		})
	}
	steps := []step{
		evaluate(`const ask = fetch; window.fetch = async (...what) => {
			window.fetch = ask
			await new Promise(go => { window.letAnswer = go })
			const answer = await ask(...what), text = await answer.text()
			setTimeout(() => { window.answered = true })
			return { ok: answer.ok, text: async () => text }
		}`),
		chromedp.SendKeys(chromedp.CSS(".finder input"), "sho"), becomes(`"function"`, `typeof window.letAnswer`), chromedp.KeyEvent(kb.Escape),
		evaluate(`letAnswer()`), becomes(`true`, `window.answered`), becomes(`true`, `document.querySelector(".finder .found").hidden`),
		evaluate(`document.querySelector(".finder input").value = ""`),
	}
	ctx, cancel := context.WithTimeout(d.tab, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		d.Fatal(err)
	}
}

func byLink(d *desk) {
	d.sees("Sign in", nil, d.to(""), person(), press("Sign out"))
	d.sees("Check your mail", nil, fill("email", "grace@acme.example"), press("Mail me a link"))
	link := d.mailed("grace@acme.example", `/signin/[\w-]+`)
	d.sees("Sign in", []string{"You are about to sign in as grace@acme.example"}, to(link))
	d.sees("My organization", nil, press("Sign in"))
	d.sees("This link does not work", nil, to(link))
}

func byProvider(d *desk) {
	d.sees("Sign in", nil, to(d.i.url+"/console"), person(), press("Sign out"))
	d.sees("My organization", nil, follow("Sign in with Acme"))
	d.sees("Where you are signed in", []string{"identity provider"}, person(), follow("Sessions"))
}
