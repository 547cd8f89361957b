package e2e

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"foyer/client"
	"foyer/internal/infra/upstream/upstreamtest"
)

func to(url string) step { return chromedp.Navigate(url) }
func press(button string) step {
	return leave(chromedp.Click(`//button[normalize-space()="` + button + `"]`))
}

func follow(link string) step {
	return leave(chromedp.Click(`//a[normalize-space()="` + link + `"]`))
}

func open(summary string) step {
	return chromedp.Click(`//summary[normalize-space()="` + summary + `"]`)
}
func fill(id, text string) step { return chromedp.SetValue(chromedp.CSS("#"+id), text) }

// write types into the editor, and replaces its text.
func write(text string) step {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		typed, err := json.Marshal(text)
		if err != nil {
			return err
		}
		_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => {
			const root = document.querySelector(".file:not([hidden]) .edited > div").shadowRoot
			root.querySelector(".cm-content").focus()
			document.execCommand("selectAll")
			return document.execCommand("insertText", false, `+string(typed)+`)
		})()`))
		return err
	})
}

func person() step                 { return chromedp.Click(chromedp.CSS(".person summary")) }
func waitFor(selector string) step { return chromedp.WaitVisible(chromedp.CSS(selector)) }

// An admin does by hand what the API can do.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	ctx := browser(t)
	sees := func(name, heading string, texts []string, before ...step) {
		t.Helper()
		shown := look(ctx, t, "console-"+name, heading, before...)
		for _, want := range texts {
			if !strings.Contains(shown, want) {
				t.Errorf("%s does not show %q:\n%s", name, want, shown)
			}
		}
	}

	sees("first", "Sign in", nil, chromedp.EmulateViewport(1200, 900), to(i.url+"/console"))
	sees("wrong", "Sign in", []string{"The API key is not valid"}, fill("key", "foy_wrong"), press("Sign in"), waitFor(".alert"))
	sees("overview", "My organization", []string{"First steps", "created the organization"}, fill("key", s["BOOTSTRAP_KEY"]), press("Sign in"))

	sees("no-apps", "Apps", []string{"There are no apps yet."}, follow("Apps"))
	sees("none-unused", "Unused apps", []string{"There are no unused apps."}, follow("Unused apps"))
	sees("add", "Add an app", nil, follow("Apps"), follow("Add an app"))
	sees("add-git", "Add an app", nil, follow("Git repository"))
	sees("add-wrong", "Add an app", []string{"Repository: The url must start"}, fill("url", "ssh://example.com/x"), chromedp.Click(`//form[.//input[@id="url"]]//button`), waitFor(".alert"))
	sees("own", "Add an app", nil, follow("Your own"))
	sees("created", "site.ts", []string{"Banner is created", "Create a site for it"}, fill("name", "Banner"), press("Create the app"))
	sees("broken", "site.ts", []string{"site.ts is saved.", "It does not compile. Line 1, column 26"}, write("export const x: number = ;\n"), press("Save"), waitFor(".alert"))
	sees("mended", "site.ts", nil, write("export const x: number = 1\n"), fill("message", "It has a value."), press("Save"), chromedp.WaitNotPresent(chromedp.CSS(".alert")))
	sees("compiled", "Banner", []string{"compiled", "24 bytes", "3 current"}, follow("Banner"))
	sees("version", "Version 3", []string{"It has a value.", "export const x: number = ;", "export const x: number = 1"}, follow("3"))
	sees("version-1", "Banner", nil, follow("Banner"))
	sees("back", "Banner", []string{"Banner is now at version 1."}, follow("1"), press("Roll back to this version"))
	sees("renamed", "Line on top", []string{"are saved.", "A line <b>on top</b>"}, open("Name and description"), fill("name", "Line on top"), fill("description", "A line <b>on top</b>"), press("Save"))
	sees("activity", "Activity", []string{"added the app", "Line on top", "changed the files of", "what changed"}, follow("Activity"))
	sees("apps", "Apps", []string{"Line on top"}, follow("Apps"))
	sees("unused", "Unused apps", []string{"never"}, follow("Unused apps"))
	sees("app", "Line on top", nil, follow("Line on top"))
	sees("gone", "Apps", []string{"is deleted.", "There are no apps yet."}, open("Delete the app"), press("Delete Line on top"))

	sees("invites", "Invites", []string{"There are no pending invites."}, follow("Invites"))
	sees("inviting", "Invite people", nil, follow("Invite people"))
	sees("inviting-wrong", "Invite people", []string{"nobody: Must be an e-mail address"}, fill("addresses", "nobody"), press("Invite"), waitFor(".alert"))
	sees("previewed", "Invite people", []string{"The mail to ada@x.example", "Nobody has been invited yet."}, fill("addresses", "ada@x.example"), press("Preview the mail"), waitFor(".mail"))
	sees("invited", "2 invited, 1 not", []string{"ada@x.example", "eve@x.example", "not mailed", "passes on each link"}, fill("addresses", "ada@x.example\neve@x.example\nnobody"), press("Invite"), waitFor("table"))
	sees("link", "Invites", []string{i.url + "/invite/", "Copy"}, follow("Invites"), press("Link"), waitFor("#link"))
	sees("withdrawn", "Invites", []string{"withdrawn"}, follow("Invites"), press("Withdraw"), waitFor(".flash"))

	sees("members", "Members", []string{"grace@acme.example"}, follow("Members"))
	const last = "The last owner must stay: make another member owner first."
	sees("role", "Change your own role", []string{last}, follow("Change role of grace@acme.example"))
	sees("leave", "Leave My organization", []string{last}, follow("Members"), follow("Leave"))

	sees("settings", "Settings", []string{"Id"}, follow("Settings"))
	sees("set", "Settings", []string{"The settings of Acme are changed: the name."}, fill("name", "Acme"), press("Change the settings"), waitFor(".flash"))
	sees("audit", "Activity", []string{"Acme"}, follow("Activity"))
	sees("overview-later", "Acme", []string{"First steps", "Latest activity"}, follow("Overview"))

	sees("profile", "Profile", []string{"grace@acme.example"}, person(), follow("Profile"))
	sees("keys", "Your keys", []string{"signed in with it"}, person(), follow("Your keys"))
	sees("key-wrong", "Your keys", []string{"Scopes: "}, press("Create the key"), waitFor(".alert"))
	sees("key", "Your new key", []string{"foy_"}, chromedp.Click(chromedp.CSS(`input[value="plugin:read"]`)), fill("days", "7"), press("Create the key"))

	sees("out", "Sign in", nil, person(), press("Sign out"))
	sees("still-out", "Sign in", nil, to(i.url+"/console/keys"))
	c, err := client.New(i.url, s["BOOTSTRAP_KEY"])
	check(t, err)
	apps, err := c.Organization(client.Current).ListApps(t.Context(), client.AppFilter{}, client.Range{})
	if err != nil || apps.Count != 0 {
		t.Errorf("%d apps, %v", apps.Count, err)
	}
	if said := i.said(); strings.Contains(said, s["BOOTSTRAP_KEY"]) {
		t.Error("the log has the key")
	}
}

// Nothing is cut off on a small screen, at 200 %, or in a table with columns, not even a long word.
func TestConsoleOnASmallScreen(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	s["UPSTREAM_ALLOW"], s["BOOTSTRAP_EMAIL"] = "127.0.0.0/8", "a.rather.long.name.of.a.pipeline@a.rather.long.name.of.a.project.example.org"
	repo := upstreamtest.NewHost(t).Repo(t, "clock")
	for _, tag := range []string{"v1.0.0", "v1.1.0+" + strings.Repeat("t", 90)} {
		repo.Tag(t, tag, repo.Commit(t, map[string]string{"plugin.json": `{"name": "Clock"}`}))
	}
	i := launch(t, s)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner","description":"What visitors see first, above everything else.","tag":"`+strings.Repeat("v", 200)+`"}`, 201)
	i.call(s["BOOTSTRAP_KEY"], "PATCH", "/pipeline_frontend_apps/1/update_source", `{"source":{"site.ts":"export const x = 1"}}`, 200)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", `{"plugin_type":"custom","url":"`+repo.URL+`","tag":"v1.0.0"}`, 201)
	join(t, i.url, s["BOOTSTRAP_KEY"], client.InviteDraft{TargetEmail: "ada@x.example"})
	i.call(s["BOOTSTRAP_KEY"], "POST", "/invites", `{"target_email":"a.rather.long.name@department.of.example.org"}`, 201)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/webhooks", `{"url":"https://hooks.department.of.example.org/a-rather-long-path/for-events","events":["app.*","site.changed"],"description":"`+strings.Repeat("w", 200)+`"}`, 201)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/sites", `{"name":"Shop"}`, 201)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/sites/1/apps", `{"app_id":1,"paths":["/`+strings.Repeat("p", 200)+`"]}`, 201)
	ctx := browser(t)
	look(ctx, t, "small-sign-in", "Sign in", to(i.url+"/console"))
	look(ctx, t, "small-overview", "My organization", fill("key", s["BOOTSTRAP_KEY"]), press("Sign in"))
	for page, heading := range map[string]string{
		"": "Organizations", "/keys": "Your keys", "/@current/apps": "Apps", "/@current/apps/new": "Add an app", "/@current/apps/unused": "Unused apps",
		"/@current/apps/1": "Banner", "/@current/apps/2/upgrade": "Upgrade", "/@current/apps/1/versions": "Versions", "/@current/invites": "Invites", "/@current/members": "Members",
		"/@current/invites/new": "Invite people", "/@current/settings": "Settings", "/@current/audit": "Activity", "/@current/keys": "Keys of members",
		"/@current/webhooks": "Webhooks", "/@current/webhooks/1": "https://hooks.department.of.example.org/a-rather-long-path/for-events", "/@current/sites/1": "Shop", "/@current/sites/1/history": "History", "/@current/sites/1/apps/1": "Banner",
		"/profile": "Profile", "/sessions": "Where you are signed in", "/invitations": "Your invitations",
	} {
		look(ctx, t, "small"+strings.ReplaceAll(page, "/", "-"), heading, chromedp.EmulateViewport(360, 900), to(i.url+"/console"+page))
		for _, width := range []int64{1366, 970, 640, 360, 320} {
			check(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)))
			cut, err := chromedp.Run(ctx, chromedp.Evaluate[int](`[document.documentElement, ...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).length`))
			if err != nil || cut > 0 {
				t.Errorf("%s at %d: %d parts are cut off, %v", page, width, cut, err)
			}
		}
	}
	for what, tc := range map[string]struct{ page, heading, is string }{
		"the role and the state of an invite share a line": {"invites", "Invites", `(() => {
			const state = document.querySelector("td.state")
			state.append(" and a reason that is longer than the line")
			return state.getClientRects()[0].top === state.previousElementSibling.getClientRects()[0].top
		})()`},
		"the menu of the person opens on the screen": {"members", "Members", `(() => {
			document.querySelector(".person").open = true
			return document.querySelector(".person > div").getBoundingClientRect().left >= 0
		})()`},
		"what is found looks like a link": {"search?q=a", "Search", `getComputedStyle(document.querySelector("#found a")).textDecorationLine === "underline"`},
	} {
		look(ctx, t, "small", tc.heading, chromedp.EmulateViewport(320, 900), to(i.url+"/console/@current/"+tc.page))
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](tc.is)); err != nil || !is {
			t.Errorf("%s: %t, %v", what, is, err)
		}
	}
}

// A name without a space wraps at the edge of the screen.
func TestTryPageOnASmallScreen(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/sites", `{"name":"`+strings.Repeat("w", 190)+`"}`, 201)
	ctx := browser(t)
	i.signIn(ctx, s["BOOTSTRAP_KEY"])
	look(ctx, t, "site", "www", to(i.url+"/console/@current/sites/1"))
	try, err := chromedp.Run(ctx, chromedp.Evaluate[string](`[...document.links].find(a => a.pathname.endsWith("/try")).href`))
	check(t, err)
	look(ctx, t, "small-try", "www", chromedp.EmulateViewport(360, 900), to(try))
	if cut, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](overflow)); err != nil || len(cut) > 0 {
		t.Errorf("cut off: %s, %v", cut, err)
	}
}

// Whoever stops the browser while a host does not answer can correct the address, and press the button again.
func TestStoppedInstall(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and answers nothing
	check(t, err)
	defer silent.Close()
	repo := upstreamtest.NewHost(t).Repo(t, "clock")
	repo.Tag(t, "v1.0.0", repo.Commit(t, map[string]string{"plugin.json": `{"name": "Clock"}`}))
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	s["UPSTREAM_ALLOW"] = "127.0.0.0/8"
	i := launch(t, s)
	ctx := browser(t)
	i.signIn(ctx, s["BOOTSTRAP_KEY"])
	const install = `button[value="git"]`
	stop := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.StopLoading, cdp.Empty{})
		return err
	})
	// The button is pressed and looked at in one step: until a next one, the page may be replaced on a busy machine.
	look(ctx, t, "stopped", "Add an app", to(i.url+"/console/@current/apps/new?way=git"), fill("url", "http://"+silent.Addr().String()+"/clock"),
		becomes("true", `((button) => { button.click(); return button.ariaBusy === "true" })(document.querySelector('`+install+`'))`), stop)
	look(ctx, t, "pressed again", "Clock", fill("url", repo.URL), leave(chromedp.Click(chromedp.CSS(install))))
}
