package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// mostTabs is how often a user presses Tab at most to reach something on a page.
const mostTabs = 120

// focus is an expression for the element with the focus, and whether the focus is visible: also in the shadow root of the
// editor.
const focus = `(() => {
	let e = document.activeElement
	while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
	if (!e || e === document.body) return ["", ""]
	const shown = e.closest(".cm-editor") ?? e
	const style = getComputedStyle(shown), box = shown.getBoundingClientRect()
	const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.bottom > 0 && box.top < innerHeight
	const name = e.getAttribute("aria-label") || e.labels?.[0]?.innerText || e.innerText || e.value || e.title || e.tagName
	return [name.trim().replace(/\s+/g, " "), seen ? "" : e.outerHTML.slice(0, 200)]
})()`

// keyboard is a user without a mouse.
type keyboard struct {
	*testing.T
	tab context.Context //nolint:containedctx // chromedp keeps the tab in it
}

func (k keyboard) press(keys string) {
	k.Helper()
	if err := chromedp.Do(k.tab, chromedp.KeyEvent(keys)); err != nil {
		k.Fatal(err)
	}
}

// at returns the element with the focus, which must be visible: the editor shows it a moment later.
func (k keyboard) at() string {
	k.Helper()
	var found []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause() {
		var err error
		if found, err = chromedp.Run(k.tab, chromedp.Evaluate[[]string](focus)); err != nil {
			k.Fatal(err)
		}
		if found[1] == "" {
			return found[0]
		}
	}
	k.Errorf("the focus is not seen: %s", found[1])
	return found[0]
}

// reach presses Tab until an element has the focus.
func (k keyboard) reach(name string) {
	k.Helper()
	var passed []string
	for range mostTabs {
		k.press(kb.Tab)
		if passed = append(passed, k.at()); passed[len(passed)-1] == name {
			return
		}
	}
	k.Fatalf("%s is not reached, but %q", name, passed)
}

// enter presses Enter on an element, and waits for the page that it opens.
func (k keyboard) enter(name, heading string) {
	k.Helper()
	k.reach(name)
	look(k.tab, k.T, "keyboard", heading, leave(chromedp.KeyEvent(kb.Enter)))
}

// A user with only a keyboard can reach everything, and always sees the focus.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	ctx := browser(t)
	k := keyboard{t, ctx}
	look(ctx, t, "keyboard", "Sign in", focused(), chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	if at := k.at(); at != "API key" {
		t.Errorf("%q has the focus first", at)
	}
	k.press(s["BOOTSTRAP_KEY"])
	look(ctx, t, "keyboard", "My organization", leave(chromedp.KeyEvent(kb.Enter)))

	k.press(kb.Tab)
	if at := k.at(); at != "Skip to the page" {
		t.Errorf("%q comes first", at)
	}
	k.enter("Add an app of your own", "Add an app")
	k.reach("Name")
	k.press("Banner")
	look(ctx, t, "keyboard", "site.ts", leave(chromedp.KeyEvent(kb.Enter)), settled)

	k.reach("Text of site.ts")
	k.press("// typed\n")
	k.press(kb.Escape)
	k.press(kb.Tab)
	if at := k.at(); at != "Delete site.ts" {
		t.Errorf("Escape and Tab lead from the editor to %q", at)
	}
	k.reach("A message that says what the change is for")
	k.press("By hand")
	k.enter("Save", "site.ts")
	k.enter("Create a site for it", "Sites")
	k.reach("Name")
	k.press("Shop")
	look(ctx, t, "keyboard", "Shop", leave(chromedp.KeyEvent(kb.Enter)))
	k.enter("Put it on the site", "Banner")
	k.reach("Runs on this site")
	k.press(" ")
	k.enter("Save", "Banner")
	if at := k.at(); at != "Banner is off on Shop now." {
		t.Errorf("%q has the focus after an act", at)
	}
}

// Keys open and close menus, search, and list all keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", `{"plugin_type":"source","name":"Banner"}`, 201)
	ctx := browser(t)
	k := keyboard{t, ctx}
	is := func(what, expression string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	look(ctx, t, "keys", "Sign in", focused(), chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	look(ctx, t, "keys", "My organization", fill("key", s["BOOTSTRAP_KEY"]), press("Sign in"))

	k.reach("Signed in as grace@acme.example")
	k.press(kb.Enter)
	is("the menu opens", `document.querySelector(".person").open`)
	k.reach("Profile")
	k.press(kb.Escape)
	is("the menu closes, and its name has the focus", `!document.querySelector(".person").open && document.activeElement.closest(".person") !== null`)

	k.press("?")
	is("the keys are shown", `document.getElementById("shortcuts").open`)
	k.press(kb.Escape)
	is("and closed", `!document.getElementById("shortcuts").open`)

	k.press("/" + kb.Backspace) // DevTools types it, although the page takes the key
	k.press("bann")
	is("the search finds", `document.querySelector(".finder .found a")?.innerText.includes("Banner")`)
	k.press(kb.ArrowDown)
	if at := k.at(); at != "Banner" {
		t.Errorf("the arrow leads to %q", at)
	}
	look(ctx, t, "keys", "Banner", leave(chromedp.KeyEvent(kb.Enter)))

	check(t, chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(".finder input")), compose("bann")))
	is("the search finds", `document.querySelector(".finder .found a")?.innerText.includes("Banner")`)
	k.press(kb.ArrowDown)
	if at := k.at(); at != "Search for anything" {
		t.Errorf("an arrow in an input method leads to %q", at)
	}

	look(ctx, t, "keys", "Apps", to(i.url+"/console/@current/apps"))
	k.reach("State")
	is("what is sent is counted", `(() => { window.sent = 0; addEventListener("submit", () => { sent++ }); return true })()`)
	k.press(kb.ArrowDown)
	k.press(kb.ArrowDown)
	is("arrows choose, and send nothing", `document.activeElement.value === "disabled" && window.sent === 0`)
}

// compose begins a text in an input method, as people type Chinese or Japanese.
func compose(text string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		end := int64(len(text))
		_, err := cdp.Call(ctx, t, input.ImeSetComposition, input.ImeSetCompositionParams{Text: text, SelectionStart: end, SelectionEnd: end})
		return err
	})
}
