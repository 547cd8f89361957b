package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// back goes to the page before, as the button of a browser does: the page may come from a cache.
var back = chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
	_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(history.back(), true)`))
	return err
})

// What somebody has typed is there again when they come back to the page, and after the server was away while they
// sent it.
func TestTypedTextIsKept(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	s["LISTEN"] = freeAddress(t)
	s["BASE_URL"] = "http://" + s["LISTEN"]
	i := launch(t, s)
	ctx := browserFor(t, time.Minute, chromedp.Flag("disable-features", "BackForwardCache")) // not all browsers keep pages whole
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
	if err := chromedp.Do(ctx, chromedp.SendKeys(chromedp.CSS("#name"), "A banner"), chromedp.SendKeys(chromedp.CSS("#description"), "What visitors see first")); err != nil {
		t.Fatal(err)
	}
	look(ctx, t, "typed", "Sites", follow("Sites"))
	look(ctx, t, "typed", "Add an app", back)
	has("back", "name", "A banner")
	has("back", "description", "What visitors see first")

	i.stop()
	if err := chromedp.Do(ctx, chromedp.Click(`//button[normalize-space()="Create the app"]`), chromedp.WaitNotPresent(chromedp.CSS("main"))); err != nil {
		t.Fatal(err)
	}
	i = launch(t, s)
	look(ctx, t, "typed", "site.ts", chromedp.Reload()) // sends the form again
	look(ctx, t, "typed", "Add an app", to(i.url+"/console/@current/apps/new?way=own"))
	has("sent", "name", "")
}
