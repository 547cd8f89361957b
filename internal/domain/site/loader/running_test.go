package loader_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func testGiven(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.app(1, "one", `export function inject({ config, foyer, ...others }) {
		log.push(JSON.stringify(config), JSON.stringify(foyer), Object.keys(others).join(), typeof foyer.report, String(this))
	}`)
	one.Config = map[string]any{"text": "hello", "list": []int{1, 2}}
	f.publish(1, one)
	got := b.open(t, f, page{script: "await ready"})
	want(t, "log", []string{
		`{"list":[1,2],"text":"hello"}`, `{"site":"` + f.token + `","app":1,"version":10,"nonce":"once"}`, "posthog", "function", "undefined",
	}, got.Log)
	clean(t, got)
}

func testPostHog(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(5, "one", `export async function inject({ posthog }) {
		log.push(String(posthog.capture("seen", { a: 1 })), String(posthog.identify("me")), String(posthog.onFeatureFlags(() => 1)))
		return posthog // which is no promise
	}`))
	got := b.open(t, f, page{
		before: `const events = []; addEventListener("foyer:capture", (e) => events.push(e.detail))`,
		script: "await ready; return JSON.stringify(events)",
	})
	want(t, "log", []string{"undefined", "undefined", "undefined"}, got.Log)
	want(t, "events", any(`[{"app":5,"event":"seen","properties":{"a":1}}]`), got.Value)
	want(t, "states", []string{"one running"}, got.Foyer.states())
	clean(t, got)

	own := `window.posthog = { capture: (event) => "own " + event, identify: (who) => who, onFeatureFlags: (f) => f() }`
	got = b.open(t, f, page{before: own, script: "await ready"})
	want(t, "log with the page's own", []string{"own seen", "me", "1"}, got.Log)
	clean(t, got)
}

// A promise that rejects is a failure; one that stays pending for too long is a failure until it settles.
func testPromises(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1,
		f.app(1, "rejects", `export const inject = () => Promise.reject(new Error("no luck"))`),
		f.app(2, "two", `export const inject = async () => { haste = 10; queueMicrotask(() => { haste = 0.1 }) }`), // its 10 s end before those of the next
		f.app(3, "slow", `export const inject = () => new Promise((done) => { window.settle = done; haste = 10 })`),
	)
	got := b.open(t, f, page{script: `
		await ready
		const { state, error } = foyer.apps[2]
		settle()
		await until(() => foyer.apps[2].state !== "failed")
		return state + " " + error`})
	want(t, "slow app", any("failed inject takes over 10 s."), got.Value)
	want(t, "states", []string{"rejects failed", "two running", "slow running"}, got.Foyer.states())
	want(t, "error", "no luck", got.Foyer.Apps[0].Error)
	want(t, "error", "", got.Foyer.Apps[2].Error)
	clean(t, got)
}

// shownAgain moves the page 20 seconds ahead and makes it visible again.
const shownAgain = `ahead += 20e3; document.dispatchEvent(new Event("visibilitychange"));`

func testCleanup(t *testing.T, b *browser) {
	f := newFoyer(t)
	stays := f.app(9, "stays", `export const inject = () => () => log.push("wrong")`)
	f.publish(1,
		f.app(1, "function", `export const inject = () => () => log.push("function")`),
		f.app(2, "promise", `export const inject = async () => () => log.push("promise")`),
		f.app(3, "late", `export const inject = () => new Promise((done) => { window.settle = done })`),
		f.app(4, "throws", `export const inject = () => () => { throw new Error("in cleanup") }`),
		f.app(5, "rejects", `export const inject = () => async () => { throw new Error("in cleanup") }`),
		f.app(6, "none", `export const inject = () => log.push("none")`), // which is a number
		stays,
	)
	got := b.open(t, f, page{
		before: `const still = now(); Date.now = () => still + ahead`,
		script: `
			await until(() => window.foyer && foyer.apps.filter((app) => app.state === "running").length === 6)
			document.dispatchEvent(new Event("visibilitychange")) // too early to ask
			await server("change");` + shownAgain + `
			await until(() => foyer.revision === 2 && foyer.apps[4].state === "stopped")
			log.push("settle")
			settle(() => log.push("late"))
			await until(() => log.includes("late"))
			await server("once more");` + shownAgain + `
			await until(() => foyer.revision === 3)`, // no cleanup is called twice
		do: map[string]func(){
			"change": func() {
				if n := len(f.asked()); n != 1 {
					t.Errorf("%d manifests were asked for", n)
				}
				f.publish(2, f.logging(7, "new"), stays)
			},
			"once more": func() { f.publish(3, stays) },
		},
	})
	want(t, "log", []string{"none", "function", "promise", "settle", "late"}, got.Log)
	want(t, "states", []string{
		"function stopped", "promise stopped", "late stopped", "throws stopped", "rejects stopped", "none running", "stays running",
	}, got.Foyer.states())
	var told []string
	report, _ := f.beacon(t)
	for _, e := range report.Errors {
		told = append(told, fmt.Sprint(e.ID, " ", e.Message))
	}
	want(t, "errors", []string{"4 in cleanup", "5 in cleanup"}, told)
	clean(t, got)
}

// A page that the back button restores from the browser's cache stops apps that were removed meanwhile.
func testBackButton(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "one", `export const inject = () => () => log.push("undone")`))
	elsewhere := b.add(page{element: " ", script: `await server("change"); history.back(); await new Promise(() => {})`, do: map[string]func(){"change": func() { f.publish(2) }}})
	got := b.open(t, f, page{script: `
		await ready
		ahead += 20e3
		addEventListener("pageshow", (event) => log.push("persisted " + event.persisted))
		location.href = "/?page=` + elsewhere + `"
		await until(() => log.includes("undone"))`})
	want(t, "log", []string{"persisted true", "undone"}, got.Log)
	want(t, "states", []string{"one stopped"}, got.Foyer.states())
	clean(t, got)
}

// A page follows changes within 5 minutes, even though its manifest may be 10 s old. It does not ask again right after
// a request. It says once that its apps have started.
func testEveryFiveMinutes(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "one", `export const inject = () => () => log.push("undone")`))
	got := b.open(t, f, page{
		before: `let every; setInterval = (f, ms) => { every = () => { ahead += ms; f() }; log.push(String(ms)) }
			addEventListener("foyer:ready", ({ detail }) => log.push("ready " + (detail === foyer)))`,
		script: `await ready; await server("change"); every(); await until(() => log.includes("undone"))`,
		do:     map[string]func(){"change": func() { f.publish(2) }},
	})
	want(t, "log", []string{"280000", "ready true", "undone"}, got.Log)
	clean(t, got)
}

// If a page's clock is set back, it does not follow later.
func testClockSetBack(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "one", `export const inject = () => () => log.push("undone")`))
	got := b.open(t, f, page{
		script: `await ready; await server("change"); ahead -= 3600e3; document.dispatchEvent(new Event("visibilitychange"))
			await until(() => log.includes("undone"))`,
		do: map[string]func(){"change": func() { f.publish(2) }},
	})
	want(t, "states", []string{"one stopped"}, got.Foyer.states())
	clean(t, got)
}

// If an app gets another version, a page keeps the one that it runs, unless that one is withdrawn, even if a cache
// between page and server has its bundle.
func testWithdrawnVersion(t *testing.T, b *browser) {
	f := newFoyer(t)
	const undone = `export const inject = ({ foyer }) => () => log.push(foyer.app + " undone")`
	withdrawn, upgraded, same, torn := f.app(1, "withdrawn", undone), f.app(2, "upgraded", undone), f.app(3, "same", undone), f.app(4, "torn", undone)
	f.publish(1, withdrawn, upgraded, same, torn)
	got := b.open(t, f, page{
		before: `const ask = fetch; fetch = (url, how) => url.endsWith("torn.js?now") ? Promise.reject("no network") : ask(url, how)`,
		script: `await ready; await server("change");` + shownAgain + `
			const asked = () => performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("?now")).length
			await until(() => foyer.apps[0].state === "stopped" && asked() > 1)
			await pause()
			return asked()`,
		do: map[string]func(){"change": func() {
			f.serve(strings.TrimPrefix(upgraded.URL, f.URL), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
			f.serve(strings.TrimPrefix(withdrawn.URL, f.URL), func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "" {
					writeBundle(w, "") // a cache still has it, since bundles are immutable
					return
				}
				w.Header().Set("Cache-Control", "no-store")
				w.WriteHeader(http.StatusGone)
			})
			before, after, other := f.logging(1, "before"), f.logging(2, "after"), torn
			before.Version, after.Version, other.Version = 9, 21, 41
			f.publish(2, other, before, after, same)
		}},
	})
	want(t, "bundles asked for", any(2.0), got.Value)
	want(t, "log", []string{"1 undone"}, got.Log)
	want(t, "states", []string{"withdrawn stopped", "upgraded running", "same running", "torn running"}, got.Foyer.states())
	clean(t, got)
}

// An app that is stopped before its bundle has loaded does not start.
func testStoppedWhileLoading(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.app(1, "one", `log.push("one")`)
	release := f.hold(one)
	f.publish(1, one)
	got := b.open(t, f, page{
		script: `
			await until(() => window.foyer && foyer.apps.length)
			await server("change");` + shownAgain + `
			await ready` + releaseFirst,
		do: map[string]func(){"change": func() { f.publish(2) }, "release": release},
	})
	want(t, "log", []string{"arrived", "one"}, got.Log)
	want(t, "states", []string{"one stopped"}, got.Foyer.states())
	clean(t, got)
}

// An app that is stopped before the page is parsed does not start, even if its bundle has loaded: an app that runs when
// it is imported could not be stopped later.
func testStoppedWhileParsing(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "one", `log.push("one ran")`))
	parsing := make(chan struct{})
	got := b.open(t, f, page{
		before: `(async () => {
			await until(() => performance.getEntriesByType("resource").some((e) => e.name.includes("/apps/") && e.responseEnd))
			await server("change");` + shownAgain + `
			await until(() => foyer.apps[0].state === "stopped")
			await server("parsed")
		})()`,
		element: f.element() + b.slowScript(t),
		script:  `if (document.readyState !== "complete") await new Promise((done) => addEventListener("load", done))`, // a script that was inserted before delays the event
		do: map[string]func(){
			"change": func() { f.publish(2) },
			"slow":   func() { wait(t, parsing) },
			"parsed": func() { close(parsing) },
		},
	})
	want(t, "log", []string{}, got.Log)
	want(t, "states", []string{"one stopped"}, got.Foyer.states())
	clean(t, got)
}

// The stylesheets that an app imports work with a policy, and are removed with the app.
func testStyles(t *testing.T, b *browser) {
	f := newFoyer(t)
	sheet := func(css string) map[string]string {
		return map[string]string{"site.ts": "import './look.css'\nexport const inject = () => {}", "look.css": css}
	}
	other := f.compiled(t, 2, "other", sheet("body { padding: 3px }"))
	f.publish(1, f.compiled(t, 1, "one", sheet("body { margin: 7px }")), other)
	got := b.open(t, f, page{
		policy: strict(f, "style-src 'nonce-once'"),
		script: `
			const look = () => { const { marginTop, paddingTop } = getComputedStyle(document.body); return marginTop + " " + paddingTop }
			await ready
			const before = look()
			await server("change");` + shownAgain + `
			await until(() => foyer.apps[0].state === "stopped")
			return before + ", " + look()`,
		do: map[string]func(){"change": func() { f.publish(2, other) }},
	})
	want(t, "styles", any("7px 3px, 8px 3px"), got.Value)
	want(t, "states", []string{"one stopped", "other running"}, got.Foyer.states())
	clean(t, got)
}

func testOnceASite(t *testing.T, b *browser) {
	f, g := newFoyer(t), newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	g.publish(2, g.logging(2, "two"))
	elements := strings.ReplaceAll(f.element()+g.element()+f.element()+g.element(), "async ", "") // so that the first one runs first
	got := b.open(t, f, page{element: elements, script: "await until(() => log.length > 1); await pause()"})
	if len(got.Log) != 2 {
		t.Errorf("ran %q, want each app once", got.Log)
	}
	want(t, "site", f.token, got.Foyer.Site)
	want(t, "states", []string{"one running"}, got.Foyer.states())
	if len(got.Foyer.Others) != 1 || got.Foyer.Others[0].Site != g.token || got.Foyer.Others[0].Revision != 2 {
		t.Fatalf("others are %+v", got.Foyer.Others)
	}
	want(t, "states", []string{"two running"}, got.Foyer.Others[0].states())
	if n := len(f.asked()) + len(g.asked()); n != 2 {
		t.Errorf("asked for %d manifests", n)
	}
	clean(t, got)
}

// Elements and frames with an id or name are also properties of the window or the document.
func testNamedElement(t *testing.T, b *browser) {
	f := newFoyer(t)
	styled := f.compiled(t, 2, "styled", map[string]string{"site.ts": "import './look.css'", "look.css": "body { margin: 7px }"})
	f.publish(1, f.app(1, "one", `export const inject = ({ posthog }) => { log.push(String(posthog.capture("seen"))) }`), styled)
	for _, named := range []string{
		`<form id="foyer"><input name="apps"></form><div id="posthog"></div>`,
		`<p id="foyer"></p><p id="foyer"></p><p id="posthog"></p><p id="posthog"></p>`,
		`<iframe name="foyer" src="` + f.URL + `/none"></iframe><iframe name="posthog" src="` + f.URL + `/none"></iframe>`,
		`<iframe name="head"></iframe><form name="scripts"></form>`,
	} {
		element := named + `<script nonce="once">addEventListener("load", () => document.body.append(Object.assign(document.createElement("script"), { nonce: "once", src: "` + f.URL + "/sites/" + f.token + `/loader.js" })))</script>`
		got := b.open(t, f, page{policy: strict(f, "frame-src *; style-src 'nonce-once'"), element: element, script: "await ready"})
		want(t, "log with "+named, []string{"undefined"}, got.Log)
		want(t, "states with "+named, []string{"one running", "styled running"}, got.Foyer.states())
		want(t, "site with "+named, f.token, got.Foyer.Site)
		clean(t, got)
	}
}

// A page's own let and const hide the window's properties from scripts. The loader calls none of them, even if it comes
// between the end of parsing and the end of loading.
func testNamedVariables(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1)
	f.preview("abc", f.document(1, f.logging(1, "one")))
	loading := make(chan struct{})
	const variables = `<script nonce="once">
		const URL = "https://shop.example.com", history = [], performance = null
		let fetch = (...all) => { if (all[0].includes("/sites/")) log.push("page's fetch"); return window.fetch(...all) }
		document.body.append(Object.assign(new Image(), { src: "/do?page=" + id + "&what=slow" }))
		addEventListener("DOMContentLoaded", () => document.body.append(Object.assign(document.createElement("script"), { src: "%s/sites/%s/loader.js" })))
	</script>`
	got := b.open(t, f, page{
		query: "&foyer_preview=abc", element: fmt.Sprintf(variables, f.URL, f.token),
		script: "await until(() => log.length); await server('loaded'); sessionStorage.clear(); return location.search.includes('preview')",
		do:     map[string]func(){"slow": func() { wait(t, loading) }, "loaded": func() { close(loading) }},
	})
	want(t, "log", []string{"one"}, got.Log)
	want(t, "preview in the address", any(false), got.Value)
	clean(t, got)
}

// Apps see the whole page, however early the loader is in it.
func testEarlyInThePage(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "one", `export function inject() { log.push(String(document.getElementById("last"))) }`))
	late := strings.Replace(f.element(), "async ", "", 1) + `<script nonce="once" src="/do?what=nothing"></script><p id="last"></p>`
	got := b.open(t, f, page{element: late, script: "await ready"})
	want(t, "log", []string{"[object HTMLParagraphElement]"}, got.Log)
	clean(t, got)
}

// Apps see what the page's own deferred scripts and modules make, even if the manifest arrives while those are still
// loading.
func testAfterDeferredScripts(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "app"))
	const deferred = `<script nonce="once">document.write("<script defer src='/do?page=" + id + "&what=slow'><\/script>")</script>
		<script type="module" nonce="once">log.push("page's module")</script>`
	element := f.element()
	if b.kind == "webkit" { // it runs no async script while it waits for one that the page has written
		element = strings.Replace(element, "async ", "", 1)
	}
	begun := make(chan struct{})
	got := b.open(t, f, page{
		before: `(async () => {
			await until(() => document.readyState === "interactive" && window.foyer && foyer.apps.length)
			await pause()
			await server("begun")
		})()`,
		element: element + deferred,
		script:  "await until(() => log.length > 1)",
		do:      map[string]func(){"slow": func() { wait(t, begun) }, "begun": func() { close(begun) }},
	})
	want(t, "log", []string{"page's module", "app"}, got.Log)
	clean(t, got)
}

// A prerendered page requests nothing until somebody opens it, which may never happen. Data that it stores before is
// lost.
func testPrerendered(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	got := b.prerender(t, f, "")
	want(t, "log", "one", got.Log[len(got.Log)-1])
	want(t, "asked while nobody saw it", false, slices.Contains(got.Log, "asked"))
	clean(t, got)
	told, body := f.beacon(t)
	if len(told.Apps) != 1 || told.Apps[0].State != "running" {
		t.Errorf("beacon: %s", body)
	}
	f.preview("abc", f.document(1, f.logging(2, "tried")))
	got = b.prerender(t, f, "&foyer_preview=abc")
	want(t, "log of a preview", "tried", got.Log[len(got.Log)-1])
	want(t, "log of the next page", []string{"tried"}, b.open(t, f, page{script: "await ready"}).Log)
}

// prerender lets the browser prerender a page of the site, if it can, and goes there.
func (b *browser) prerender(t *testing.T, f *foyer, query string) report {
	t.Helper()
	made := make(chan struct{})
	next := b.add(page{
		before:  `const ask = fetch; window.fetch = (...all) => { if (document.prerendering) log.push("asked"); return ask(...all) }`,
		element: f.element(),
		script: `
			await until(() => window.foyer)
			if (document.prerendering) {
				log.push("made")
				await ask("/do?page=" + id + "&what=made")
			}
			await ready`,
		do: map[string]func(){"made": func() { close(made) }},
	})
	return b.open(t, f, page{
		element: " ",
		script: `
			const rules = document.createElement("script"), next = "/?page=` + next + query + `"
			rules.type = "speculationrules"
			rules.textContent = JSON.stringify({ prerender: [{ source: "list", urls: [next], eagerness: "immediate" }] })
			document.head.append(rules)
			if (HTMLScriptElement.supports && HTMLScriptElement.supports("speculationrules")) await server("made")
			location.href = next
			await new Promise(() => {})`,
		do: map[string]func(){"made": func() {
			select {
			case <-made:
			case <-time.After(patience / 4): // no browser has to prerender
			}
		}},
	})
}

func testTrustedTypes(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	got := b.open(t, f, page{policy: strict(f, "require-trusted-types-for 'script'; trusted-types foyer"), script: "await ready"})
	want(t, "log", []string{"one"}, got.Log)
	clean(t, got)
}
