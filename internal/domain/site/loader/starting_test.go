package loader_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"foyer/internal/domain/site/loader"
)

func testSixApps(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(7,
		f.logging(1, "one"), f.logging(2, "two"),
		f.app(3, "three", `log.push("three")`), // it has no inject, and runs when it is imported
		f.app(4, "four", `export const inject = async () => { log.push("four") }`),
		f.app(5, "five", `export function inject({ foyer }) {
			const style = document.createElement("style")
			style.nonce = foyer.nonce
			style.textContent = "body { color: rgb(1, 2, 3) }"
			document.head.append(style)
			log.push("five " + getComputedStyle(document.body).color)
		}`),
		f.logging(6, "six"),
	)
	got := b.open(t, f, page{policy: strict(f, "style-src 'nonce-once'"), script: "await ready"})
	want(t, "log", []string{"one", "two", "three", "four", "five rgb(1, 2, 3)", "six"}, got.Log)
	clean(t, got)
	want(t, "states", []string{"one running", "two running", "three running", "four running", "five running", "six running"}, got.Foyer.states())
}

// If the first bundle arrives last, its app still runs first.
func testOrder(t *testing.T, b *browser) {
	f := newFoyer(t)
	one, two, three := f.logging(1, "one"), f.logging(2, "two"), f.logging(3, "three")
	release := f.hold(one)
	var others sync.WaitGroup
	others.Add(2)
	for _, a := range []app{two, three} {
		arrived := sync.OnceFunc(others.Done)
		js := `export function inject() { log.push("` + a.Name + `") }`
		f.serve(strings.TrimPrefix(a.URL, f.URL), func(w http.ResponseWriter, _ *http.Request) {
			writeBundle(w, js)
			arrived()
		})
	}
	go func() {
		others.Wait()
		release()
	}()
	f.publish(1, one, two, three)
	got := b.open(t, f, page{script: "await ready"})
	want(t, "log", []string{"one", "two", "three"}, got.Log)
	clean(t, got)
}

// A late bundle loses its turn, and runs when it arrives.
func testSlowBundle(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.logging(1, "one")
	release := f.hold(one)
	f.publish(1, one, f.logging(2, "two"), f.logging(3, "three"))
	got := b.open(t, f, page{
		before: "haste = 0.2", // enough time for the others to arrive
		script: `await until(() => log.length === 2)
			const before = foyer.apps.map((app) => app.state).join()
			await server("release")
			await ready
			return before`,
		do: map[string]func(){"release": release},
	})
	want(t, "log", []string{"two", "three", "one"}, got.Log)
	want(t, "states before", any("loading,running,running"), got.Value)
	want(t, "states", []string{"one running", "two running", "three running"}, got.Foyer.states())
	clean(t, got)
}

// The second that a bundle has begins with the manifest, however long the page takes to parse.
func testSlowPage(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.logging(1, "one")
	release := f.hold(one)
	f.publish(1, one, f.logging(2, "two"))
	parsing := make(chan struct{})
	got := b.open(t, f, page{
		before: `haste = 1;
			(async () => {
			await until(() => window.foyer && foyer.apps.length)
			haste = 1e-3 // a second that begins now takes a quarter of an hour
			await server("parsed")
		})()`,
		element: f.element() + b.slowScript(t),
		script: `await until(() => log.length)
			const before = foyer.apps.map((app) => app.state).join()
			await server("release")
			await ready
			return before`,
		do: map[string]func(){"slow": func() { wait(t, parsing) }, "parsed": func() { close(parsing) }, "release": release},
	})
	want(t, "states before", any("loading,running"), got.Value)
	clean(t, got)
}

// releaseFirst releases the bundle of the first app, and imports it after it has arrived.
const releaseFirst = `
	const link = document.querySelector("link[rel=modulepreload]")
	const arrived = new Promise((done) => { link.onload = done })
	await server("release")
	await arrived
	await pause()
	log.push("arrived")
	await import(link.href)`

// A bundle that does not arrive in 10 seconds has failed, and does not run later, whatever the page's variables are called.
func testNoBundle(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.app(1, "one", `log.push("one")`)
	release := f.hold(one)
	f.publish(1, one, f.logging(2, "two"))
	got := b.open(t, f, page{before: "const Document = null; hurry(10, 3)", script: "await ready" + releaseFirst, do: map[string]func(){"release": release}})
	want(t, "log", []string{"two", "arrived", "one"}, got.Log)
	want(t, "states", []string{"one failed", "two running"}, got.Foyer.states())
	want(t, "error", "The bundle takes over 10 s.", got.Foyer.Apps[0].Error)
	clean(t, got)
}

func testFailures(t *testing.T, b *browser) {
	f := newFoyer(t)
	wrong, missing := f.logging(3, "wrong"), f.logging(5, "missing")
	wrong.Integrity = f.logging(4, "other").Integrity
	f.serve(strings.TrimPrefix(missing.URL, f.URL), http.NotFound)
	f.publish(1,
		f.app(1, "throws", `export function inject() { log.push("throws"); throw new RangeError("by inject") }`),
		f.app(2, "never", `export function inject() { log.push("never"); return new Promise(() => {}) }`),
		wrong, missing,
		f.app(6, "module", `log.push("module"); throw new TypeError("by the module"); export function inject() { log.push("not this") }`),
		f.app(7, "syntax", `export function inject( {`),
		f.app(8, "odd", `export function inject() { throw { get message() { throw 1 }, get name() { throw 2 } } }`),
		f.app(9, "nothing", `export function inject() { return Promise.reject() }`),
		f.logging(10, "last"),
	)
	got := b.open(t, f, page{script: `await until(() => log.includes("last"))`, policy: strict(f, "")})
	want(t, "log", []string{"throws", "never", "module", "last"}, got.Log)
	want(t, "states", []string{
		"throws failed", "never loading", "wrong failed", "missing failed", "module failed", "syntax failed", "odd failed", "nothing failed", "last running",
	}, got.Foyer.states())
	want(t, "violations", []string{}, got.Violations)
	for i, text := range map[int]string{0: "by inject", 2: "The bundle is refused.", 4: "by the module", 6: "?", 7: "undefined"} {
		want(t, got.Foyer.Apps[i].Name, text, got.Foyer.Apps[i].Error)
	}
	if len(got.Errors) != 2 || !strings.Contains(got.Errors[0], "by the module") { // errors of modules, as of any script
		t.Errorf("the page has seen %q", got.Errors)
	}
}

// Browsers treat a module that exports a function "then" as a promise, which may never settle. Other apps run
// nevertheless.
func testThenable(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "thenable", `export function then() { log.push("then") }`), f.logging(2, "last"))
	got := b.open(t, f, page{before: "haste = 10", script: "await Promise.race([ready, new Promise((done) => wait(done, 20e3))])"})
	want(t, "log", []string{"then", "last"}, got.Log)
	want(t, "states", []string{"thenable failed", "last running"}, got.Foyer.states())
	clean(t, got)
}

// A failure stops no other app, whatever the page has done to the console.
func testNoConsole(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "throws", `export function inject() { throw new RangeError("by inject") }`), f.logging(2, "last"))
	for _, before := range []string{"console.error = () => { throw 1 }", "console = undefined"} {
		got := b.open(t, f, page{before: before, script: "await until(() => log.length); await ready"})
		want(t, "states after "+before, []string{"throws failed", "last running"}, got.Foyer.states())
		clean(t, got)
	}
}

// A bundle with a changed byte never runs, not even its first line; nor does a bundle without a sum that browsers
// understand. WebKit checks only the sum of the script element.
func testChangedByte(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.app(1, "one", `log.push("1"); export function inject() { log.push("one") }`)
	f.serve(strings.TrimPrefix(one.URL, f.URL), func(w http.ResponseWriter, _ *http.Request) {
		writeBundle(w, `log.push("2"); export function inject() { log.push("one") }`)
	})
	f.publish(1, one)
	for range 2 {
		got := b.open(t, f, page{
			before: `let script
				new MutationObserver(() => { script = script || document.head.querySelector("script[type=module]") }).observe(document.head, { childList: true })`,
			script: `await ready; return script.integrity + " " + script.crossOrigin`,
		})
		want(t, "log", []string{}, got.Log)
		want(t, "states", []string{"one failed"}, got.Foyer.states())
		want(t, "script", any(one.Integrity+" anonymous"), got.Value)
		clean(t, got)
	}
	unchecked := f.logging(2, "unchecked") // its url has not been refused on any page
	for _, sum := range []string{"", "md5-x"} {
		unchecked.Integrity = sum
		f.publish(2, unchecked)
		got := b.open(t, f, page{script: "await ready"})
		want(t, "log with the sum "+sum, []string{}, got.Log)
		clean(t, got)
	}
}

func testPaths(t *testing.T, b *browser) {
	f := newFoyer(t)
	globs := []string{
		"", "/", "/shop", "/shop/", "/shop/*", "/shop/**", "/s*p/shoes", "/*", "/**", "**", "/shop/sho", "/Shop/**", "/shop.shoes", "/*/*/*", "**/shoes", "/**/shoes",
		"!/shop/**", "!/blog/**", "/shop/** !/shop/shoes", "!/shop/** /shop/shoes", "/** !/**", "/shop/shoes !/shop/** /shop/*",
		"/shop/shoes/**/**", "/sho*/**", "/**/**/", "/***", "/shop/***",
	}
	var apps []app
	for i, glob := range globs {
		a := f.logging(i+1, "app")
		a.URL, a.Integrity, a.Name = apps0(apps, a).URL, apps0(apps, a).Integrity, glob
		a.Paths = strings.Fields(glob)
		apps = append(apps, a)
	}
	f.publish(1, apps...)
	for path, hits := range map[string][]string{
		"/shop/shoes": {
			"", "/shop/*", "/shop/**", "/s*p/shoes", "/**", "**", "**/shoes", "/**/shoes",
			"!/blog/**", "!/shop/** /shop/shoes", "/shop/shoes !/shop/** /shop/*", "/shop/shoes/**/**", "/sho*/**", "/***", "/shop/***",
		},
		"/shop":  {"", "/shop", "/shop/**", "/*", "/**", "**", "!/blog/**", "/shop/** !/shop/shoes", "/sho*/**", "/***"},
		"/shop/": {"", "/shop/", "/shop/*", "/shop/**", "/**", "**", "!/blog/**", "/shop/** !/shop/shoes", "/shop/shoes !/shop/** /shop/*", "/sho*/**", "/***", "/shop/***"},
		"/":      {"", "/", "/*", "/**", "**", "!/shop/**", "!/blog/**", "!/shop/** /shop/shoes", "/***"},
	} {
		got := b.open(t, f, page{path: path, script: "await ready"})
		var names []string
		for _, app := range got.Foyer.Apps {
			names = append(names, app.Name)
		}
		want(t, "apps at "+path, hits, names)
		clean(t, got)
	}
}

// Matching a path takes time proportional to its length and that of the glob. A matcher that recursed at each /** would
// take minutes.
func testLongPaths(t *testing.T, b *browser) {
	f := newFoyer(t)
	a := f.logging(1, "app")
	for range 50 {
		a.Paths = append(a.Paths, "/x"+strings.Repeat("/**", 332))
	}
	f.publish(1, a)
	for path, states := range map[string][]string{"/x": {"app running"}, "/xy" + strings.Repeat("z", 2000): nil} {
		got := b.open(t, f, page{path: path, script: "await ready"})
		want(t, "states", states, got.Foyer.states())
		clean(t, got)
	}
}

// Browsers encode paths in different ways, and links use any of them.
func testEncodedPaths(t *testing.T, b *browser) {
	f := newFoyer(t)
	globs := []string{"/a^b", "/a%5Eb", "/a|b", "/a%7cb", "/^|", "/%5e%7C", "!/a^b", "!/a%7Cb"}
	var apps []app
	for i, glob := range globs {
		a := f.logging(i+1, "app")
		a.Name, a.Paths = glob, loader.Globs(glob)
		apps = append(apps, a)
	}
	f.publish(1, apps...)
	for _, at := range []struct{ paths, hits []string }{
		{[]string{"/a^b", "/a%5Eb", "/a%5eb"}, []string{"/a^b", "/a%5Eb", "!/a%7Cb"}},
		{[]string{"/a|b", "/a%7Cb", "/a%7cb"}, []string{"/a|b", "/a%7cb", "!/a^b"}},
		{[]string{"/^|", "/%5E%7C", "/%5e%7c"}, []string{"/^|", "/%5e%7C", "!/a^b", "!/a%7Cb"}},
	} {
		for _, path := range at.paths {
			got := b.open(t, f, page{path: path, script: "await ready"})
			var names []string
			for _, app := range got.Foyer.Apps {
				names = append(names, app.Name)
			}
			want(t, "apps at "+path, at.hits, names)
			clean(t, got)
		}
	}
}

// apps0 returns the first of apps, or the app that will be the first.
func apps0(apps []app, first app) app {
	if len(apps) > 0 {
		return apps[0]
	}
	return first
}
