package e2e

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"foyer/client"
)

// The editor has several files at once, saves them as one version with a key, tells errors in
// their lines, and loses nothing that was typed. Nothing of it is against the policy of the page.
func TestEditorInABrowser(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner","source":{"site.ts":"export const a = 1\n","lib/b.css":"p { color: red }\n"}}`, 201)
	ctx := browser(t)
	find := func(want, expression string) step {
		return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Run(ctx, chromedp.Poll[bool](`(`+expression+`) === `+want))
			return err
		})
	}
	const shown = `document.querySelector(".file:not([hidden]) .edited > div")?.shadowRoot.querySelector(".cm-content").textContent`
	save := leave(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.querySelector(".cm-content").dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true, bubbles: true, composed: true, cancelable: true }))`))
		return err
	}))

	look(ctx, t, "sign-in", "Sign in", chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	look(ctx, t, "signed-in", "My organization", fill("key", s["BOOTSTRAP_KEY"]), press("Sign in"))
	page := i.url + "/console/@current/apps/1/source?file="
	look(ctx, t, "editor-add", "Add a file", to(i.url+"/console/@current/apps/1/source"), find(`"Add a file"`, `[...document.querySelectorAll(".tree [aria-current]")].map((e) => e.textContent.trim()).join()`))
	look(ctx, t, "editor", "site.ts", to(page+"site.ts"), find(`"export const a = 1"`, shown))
	look(ctx, t, "editor-typed", "site.ts", write("export const a = ;\n"))
	look(ctx, t, "editor-second", "lib/b.css", chromedp.Click(chromedp.CSS(`.tree a[data-file="lib/b.css"]`)), find(`"p { color: red }"`, shown), write("p { color: blue }\n"))
	look(ctx, t, "editor-review", "site.ts", press("Show what changes"), waitFor(".review .diff"))
	look(ctx, t, "editor-saved", "site.ts", save, waitFor(".flash"))
	look(ctx, t, "editor-error", "site.ts", find(`true`, `document.querySelector(".file:not([hidden]) .edited > div").shadowRoot.querySelector(".cm-lintRange-error, .cm-lintPoint-error") !== null`))

	// Leaving with text that is not saved would ask: the draft is as it is kept then.
	draft := chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => {
			const hash = document.querySelector(".file [name=sha256]").value
			sessionStorage.setItem("foyer " + location.pathname + " site.ts", JSON.stringify({ hash, text: "kept\n" }))
			return true
		})()`))
		return err
	})
	look(ctx, t, "editor-draft", "site.ts", to(page+"site.ts"), draft)
	look(ctx, t, "editor-restored", "site.ts", to(page+"site.ts"), find(`"kept"`, shown), chromedp.Click(`//button[.="Show what is saved"]`), find(`"export const a = ;"`, shown))

	c, err := client.New(i.url, s["BOOTSTRAP_KEY"])
	if err != nil {
		t.Fatal(err)
	}
	app, err := c.Organization(client.Current).GetSource(t.Context(), 1)
	if err != nil || app.Source["site.ts"] != "export const a = ;\n" || app.Source["lib/b.css"] != "p { color: blue }\n" {
		t.Errorf("%q, %v", app.Source, err)
	}
	versions, err := c.Organization(client.Current).ListVersions(t.Context(), 1, client.Range{})
	if err != nil || versions.Count != 2 {
		t.Errorf("%d versions, %v", versions.Count, err)
	}
}
