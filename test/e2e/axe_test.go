package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axe is the source of axe-core, which finds accessibility problems.
var axe = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(binary, "axe")
	if err := os.CopyFS(dir, os.DirFS("axe")); err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(text) + "; true", err
})

// appearance is the size and color scheme in which a page is checked.
type appearance struct {
	width  int64
	scheme string
	forced bool // the system forces colors, and motion is reduced
}

// Each page is checked in two of these with script, and in the other two without.
var appearances = map[bool][]appearance{
	true:  {{width: 1366, scheme: "light"}, {width: 390, scheme: "dark"}},
	false: {{width: 1366, scheme: "dark"}, {width: 390, scheme: "light"}},
}

// setScript sets whether pages may run their own scripts.
func setScript(on bool) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// focused lets pages take the focus as if their window were in front.
func focused() step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	})
}

// appear shows the page in another size and scheme.
func appear(a appearance) step {
	colors, motion := "none", "no-preference"
	if a.forced {
		colors, motion = "active", "reduce"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: a.scheme}, {Name: "forced-colors", Value: colors}, {Name: "prefers-reduced-motion", Value: motion},
	}}
	return chromedp.Steps(chromedp.EmulateViewport(a.width, 900), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return err
	}))
}

const (
	// findings are axe's findings on a page, of allRules or of colorRules. axe does not know that the scrolling part of
	// the editor scrolls with its text, which takes the focus. In the reference it checks two operations of each group and
	// two objects: checking all takes a minute, and the same templates make them. Forced colors are the system's, not the
	// page's: there axe reads -webkit-text-fill-color, which keeps the old color.
	findings = `axe.run({ exclude: [[".operation:nth-of-type(n+3)"], [".object:nth-of-type(n+3)"]] }, {
		resultTypes: ["violations"], preload: false, runOnly: %s,
		rules: { "color-contrast": { enabled: !matchMedia("(forced-colors: active)").matches } },
	}).then((r) => r.violations
		.map((v) => ({ ...v, nodes: v.nodes.filter((n) => v.id !== "scrollable-region-focusable" || !n.html.includes("cm-scroller")) }))
		.filter((v) => v.nodes.length).map((v) => v.id + ": " + v.help + "\n  " + v.nodes.map((n) => n.html).join("\n  ")))`

	allRules   = `undefined`
	colorRules = `["color-contrast", "link-in-text-block"]` // others do not depend on the color scheme

	// overflow lists what sticks out of a page to the side.
	overflow = `document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] : [...document.querySelectorAll("body *")]
		.filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth && !e.closest(".scroll, pre")).map((e) => e.outerHTML.slice(0, 200))`

	// scrolled lists tables that are wider than the page, except those of code.
	scrolled = `[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth && !e.querySelector(".code") && !e.closest(".prose"))
		.map((e) => e.scrollWidth + " > " + e.clientWidth + ": " + e.innerText.slice(0, 100))`

	// alike lists links of a navigation that look like the one to the current page: some systems show a transparent border.
	alike = `[...document.querySelectorAll(".bar nav a[aria-current], .tabs a[aria-current]")].flatMap((here) => [...here.parentElement.querySelectorAll("a:not([aria-current])")]
		.filter((a) => getComputedStyle(a).borderBottomColor === getComputedStyle(here).borderBottomColor).map((a) => a.outerHTML.slice(0, 200)))`

	// retold lists times that the script changes each minute, in texts that screen readers read aloud when they change.
	retold = `[...document.querySelectorAll("[role=status] time, [role=alert] time")].map((e) => e.parentElement.outerHTML.slice(0, 200))`

	// unseenFocus lists elements that do not show that they have the focus.
	unseenFocus = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
		.filter((e) => !e.disabled && e.type !== "hidden" && e.checkVisibility({ visibilityProperty: true }))
		.filter((e) => {
			e.focus({ focusVisible: true, preventScroll: true })
			const style = getComputedStyle(e)
			return document.activeElement !== e || style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2
		}).map((e) => e.outerHTML.slice(0, 200))`
)

// accessible checks the current page in some appearances. axe is not a script of the page, but needs scripts to be on.
func accessible(ctx context.Context, t *testing.T, name string, script bool, how ...appearance) {
	t.Helper()
	text, err := axe()
	check(t, err)
	find := func(what, how string, options ...chromedp.EvaluateOption) {
		t.Helper()
		found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](how, options...))
		if err != nil {
			t.Fatalf("%s: %s: %v", name, what, err)
		}
		for _, f := range found {
			t.Errorf("%s: %s: %s", name, what, f)
		}
	}
	check(t, chromedp.Do(ctx, setScript(true)))
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](text)); err != nil {
		t.Fatalf("%s: axe: %v", name, err)
	}
	var widths []int64
	for _, a := range how {
		check(t, chromedp.Do(ctx, appear(a)))
		photograph(ctx, t, fmt.Sprintf("page-%s-%d-%s", name, a.width, a.scheme), !a.forced)
		rules := allRules
		if slices.Contains(widths, a.width) && !a.forced {
			rules = colorRules
		}
		find(fmt.Sprintf("%+v", a), fmt.Sprintf(findings, rules), chromedp.EvalAwaitPromise)
		widths = append(widths, a.width)
		find(fmt.Sprintf("looks current: %+v", a), alike)
	}
	for _, width := range []int64{970, 800, 320} {
		check(t, chromedp.Do(ctx, appear(appearance{width: width, scheme: "light"})))
		find(fmt.Sprintf("cut off at %d px", width), overflow)
		find(fmt.Sprintf("scrolls sideways at %d px", width), scrolled)
	}
	find("focus is not seen", unseenFocus)
	find("is read aloud each minute", retold)
	check(t, chromedp.Do(ctx, appear(appearance{width: 1366, scheme: "light"}), setScript(script)))
}

// photograph saves a picture of the page, if it is wanted.
func photograph(ctx context.Context, t *testing.T, name string, wanted bool) {
	t.Helper()
	if *screenshots == "" || !wanted {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Logf("%s: %v", name, err) // too large
		return
	}
	file := regexp.MustCompile(`[^\w-]+`).ReplaceAllString(name, "_") + ".png"
	check(t, os.WriteFile(filepath.Join(*screenshots, file), picture, 0o600))
}

// TestAxeFinds shows that axe finds faults: otherwise its silence would mean nothing.
func TestAxeFinds(t *testing.T) {
	t.Parallel()
	text, err := axe()
	check(t, err)
	ctx := browser(t)
	check(t, chromedp.Do(ctx, chromedp.Navigate(`data:text/html,<!doctype html><title>x</title><img src="x"><input><p style="color: %23ccc">faint</p><p style="width: 200vw">x</p>`)))
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](text)); err != nil {
		t.Fatal(err)
	}
	for rules, wanted := range map[string][]string{allRules: {"image-alt", "label", "color-contrast"}, colorRules: {"color-contrast"}} {
		found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(findings, rules), chromedp.EvalAwaitPromise))
		for _, want := range wanted {
			if all := strings.Join(found, "\n"); err != nil || !strings.Contains(all, want) {
				t.Errorf("%s: no %s: %s, %v", rules, want, all, err)
			}
		}
	}
	if cut, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](overflow)); err != nil || len(cut) == 0 {
		t.Errorf("nothing is cut off, %v", err)
	}
}
