package e2e

import (
	"bufio"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// An owner gets from the first start to their own running app on the try page by following the screen: a key, a name, and
// three buttons.
func TestFirstApp(t *testing.T) {
	t.Parallel()
	out, screen := io.Pipe()
	p, err := startProcess([]string{"FOYER_LISTEN=127.0.0.1:0"}, t.TempDir(), screen, io.Discard)
	check(t, err)
	t.Cleanup(p.kill)
	go func() { <-p.ended; screen.Close() }()
	key := ""
	for lines := bufio.NewScanner(out); key == "" && lines.Scan(); {
		key = regexp.MustCompile(`foy_\w{43}`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, out)
	url, err := p.awaitURL()
	check(t, err)
	ctx := browser(t)
	shows := func(heading, text string, steps ...step) {
		t.Helper()
		if shown := look(ctx, t, "first-app-"+strings.ReplaceAll(heading, " ", "-"), heading, steps...); !strings.Contains(shown, text) {
			t.Errorf("%s does not show %q:\n%s", heading, text, shown)
		}
	}
	shows("Sign in", "API key", chromedp.EmulateViewport(1366, 900), to(url+"/console"))
	shows("My organization", "Add an app of your own", fill("key", key), press("Sign in"))
	shows("Add an app", "two files", follow("Add an app of your own"))
	shows("site.ts", "Banner is created, with two files to start from. It runs as it is.", fill("name", "Banner"), press("Create the app"))
	shows("Banner", "Banner is on the site, and runs.", press("Put it on Demo"))
	runs := func(text string) {
		t.Helper()
		try, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("iframe.preview").src`))
		check(t, err)
		tab, stop := chromedp.NewContext(ctx)
		defer stop()
		if err := chromedp.Do(tab, to(try), chromedp.WaitVisible(`//div[.="`+text+`"]`)); err != nil {
			t.Errorf("the try page does not show %q: %v", text, err)
		}
	}
	runs("Hello from your own app!")
	shows("Banner", "Banner runs version 1 on Demo now.", fillNamed("config.text", "Good morning"), press("Save"), waitFor(".flash"))
	runs("Good morning")
}

// A saved app that is on no site is offered the only site.
func TestSavedAppIsOfferedASite(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	ctx := browser(t)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner"}`, 201)
	i.signIn(ctx, s["BOOTSTRAP_KEY"])
	look(ctx, t, "first-file", "Add a file", to(i.url+"/console/@current/apps/1/source"))
	look(ctx, t, "saved", "site.ts", fill("filename", "site.ts"), write("export function inject() {}\n"), press("Save"), waitFor(".offer"))
	look(ctx, t, "no-site", "Sites", follow("Create a site for it"))
	look(ctx, t, "site", "Shop", fill("name", "Shop"), press("Create the site"))
	look(ctx, t, "one-site", "Banner", to(i.url+"/console/@current/apps/1"), waitFor(".offer"))
	shown := look(ctx, t, "placed", "Banner", press("Put it on Shop"))
	if !strings.Contains(shown, "Banner is on the site, and runs.") {
		t.Error(shown)
	}
}
