package e2e

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/internal/infra/db/dbtest"
)

// Typed text is still there when the user comes back to the page, also after the server was unreachable while they sent
// it.
func TestTypedTextIsKept(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	s["LISTEN"] = dbtest.FreeAddress(t)
	s["BASE_URL"] = "http://" + s["LISTEN"]
	i := launch(t, s)
	ctx := browserFor(t, 5*time.Minute, chromedp.Flag("disable-features", "BackForwardCache")) // not all browsers keep pages whole
	has := func(when, id, want string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`document.getElementById("`+id+`")?.value === "`+want+`"`)); err != nil {
			got, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + " " + document.getElementById("`+id+`")?.value`))
			t.Errorf("%s: %s is %q, want %q: %v", when, id, got, want, err)
		}
	}
	look(ctx, t, "typed", "Sign in", chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	look(ctx, t, "typed", "My organization", fill("key", s["BOOTSTRAP_KEY"]), press("Sign in"))
	look(ctx, t, "typed", "Add an app", to(i.url+"/console/@current/apps/new?way=own"))
	check(t, chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS("#name"), "A banner"), chromedp.SendKeys(chromedp.CSS("#description"), "What visitors see first")))
	look(ctx, t, "typed", "Sites", follow("Sites"))
	look(ctx, t, "typed", "Add an app", chromedp.NavigateBack())
	has("back", "name", "A banner")
	has("back", "description", "What visitors see first")

	i.stop()
	check(t, chromedp.Do(ctx, chromedp.Click(`//button[normalize-space()="Create the app"]`), chromedp.WaitNotPresent(chromedp.CSS("main"))))
	i = launch(t, s)
	look(ctx, t, "typed", "site.ts", chromedp.Reload()) // sends the form again
	look(ctx, t, "typed", "Add an app", to(i.url+"/console/@current/apps/new?way=own"))
	has("sent", "name", "")
}

// Ticks and choices are not restored on a page that is fetched anew: they would apply to another row, or undo a change by
// somebody else.
func TestChoicesAreNotKept(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	key := s["BOOTSTRAP_KEY"]
	i.call(key, "POST", "/invites", `{"target_email":"ada@x.example","send_email":false}`, 201)
	i.call(key, "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner","source":{"site.ts":"export const a = 1","lib.ts":"","old.ts":""}}`, 201)
	i.call(key, "POST", "/sites", `{"name":"Shop"}`, 201)
	i.call(key, "POST", "/sites/1/apps", `{"app_id":1}`, 201)
	ctx := browserFor(t, 5*time.Minute, chromedp.Flag("disable-features", "BackForwardCache")) // not all browsers keep pages whole
	look(ctx, t, "choices", "Sign in", chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	look(ctx, t, "choices", "My organization", fill("key", key), press("Sign in"))

	const ticked = `document.querySelectorAll("main input:checked").length`
	tick := chromedp.Click(chromedp.CSS("main tbody input[type=checkbox]"))
	look(ctx, t, "choices-ticked", "Invites", follow("Invites"), tick, becomes(`1`, ticked))
	look(ctx, t, "choices", "Members", follow("Members"))
	i.call(key, "POST", "/invites", `{"target_email":"eve@x.example","send_email":false}`, 201) // it is first in the list
	look(ctx, t, "choices-none", "Invites", chromedp.NavigateBack(), becomes(`0`, ticked))

	look(ctx, t, "choices-old", "old.ts", to(i.url+"/console/@current/apps/1/source?file=old.ts"), chromedp.Click(chromedp.CSS("[name=delete]")), becomes(`1`, ticked))
	look(ctx, t, "choices-lib", "lib.ts", choose("lib.ts"), becomes(`""`, editorText))
	look(ctx, t, "choices", "Members", follow("Members"))
	look(ctx, t, "choices-kept", "lib.ts", chromedp.NavigateBack(), becomes(`0`, ticked))

	look(ctx, t, "choices-runs", "Banner", to(i.url+"/console/@current/sites/1/apps/1"))
	look(ctx, t, "choices", "Members", follow("Members"))
	i.call(key, "PATCH", "/sites/1/apps/1", `{"enabled":false,"version":1}`, 200)
	look(ctx, t, "choices-off", "Banner", chromedp.NavigateBack(), becomes(`0`, ticked), becomes(`"1"`, `document.getElementById("version").value`))
}
