package loader_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestInBrowsers runs all page tests in Chromium and, with FOYER_ALL_BROWSERS, in Firefox and WebKit. It starts each
// browser once.
func TestInBrowsers(t *testing.T) { //nolint:tparallel // a browser opens one page after another
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind != "chromium" && os.Getenv("FOYER_ALL_BROWSERS") == "" {
				t.Skip("FOYER_ALL_BROWSERS is not set")
			}
			t.Parallel()
			b := start(t, kind)
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, b) })
				if b.lost {
					return
				}
			}
		})
	}
}

var tests = []struct {
	name string
	run  func(*testing.T, *browser)
}{
	{"Manifest", testManifest},
	{"ServerStopped", testServerStopped},
	{"Waits", testWaits},
	{"NoAnswer", testNoAnswer},
	{"Outage", testOutage},
	{"LowerRevision", testLowerRevision},
	{"DeletedSite", testDeletedSite},
	{"WrongManifests", testWrongManifests},
	{"WrongStorage", testWrongStorage},
	{"StoredManifest", testStoredManifest},
	{"FullStorage", testFullStorage},
	{"PrototypeJS", testPrototypeJS},
	{"Sandbox", testSandbox},

	{"SixApps", testSixApps},
	{"Order", testOrder},
	{"SlowBundle", testSlowBundle},
	{"SlowPage", testSlowPage},
	{"NoBundle", testNoBundle},
	{"Failures", testFailures},
	{"Thenable", testThenable},
	{"NoConsole", testNoConsole},
	{"ChangedByte", testChangedByte},
	{"Paths", testPaths},
	{"LongPaths", testLongPaths},
	{"EncodedPaths", testEncodedPaths},

	{"Given", testGiven},
	{"PostHog", testPostHog},
	{"Promises", testPromises},
	{"Cleanup", testCleanup},
	{"BackButton", testBackButton},
	{"EveryFiveMinutes", testEveryFiveMinutes},
	{"ClockSetBack", testClockSetBack},
	{"WithdrawnVersion", testWithdrawnVersion},
	{"StoppedWhileLoading", testStoppedWhileLoading},
	{"StoppedWhileParsing", testStoppedWhileParsing},
	{"Styles", testStyles},

	{"OnceASite", testOnceASite},
	{"NamedElement", testNamedElement},
	{"NamedVariables", testNamedVariables},
	{"EarlyInThePage", testEarlyInThePage},
	{"AfterDeferredScripts", testAfterDeferredScripts},
	{"Prerendered", testPrerendered},
	{"TrustedTypes", testTrustedTypes},
	{"Preview", testPreview},
	{"PreviewEnds", testPreviewEnds},
	{"PreviewWhileDown", testPreviewWhileDown},
	{"PreviewTooLong", testPreviewTooLong},
	{"PreviewPutBack", testPreviewPutBack},
	{"PreviewOfTheSecondSite", testPreviewOfTheSecondSite},
	{"PreviewInTheAddress", testPreviewInTheAddress},
	{"Beacon", testBeacon},
	{"NoBeacon", testNoBeacon},
}

// strict is a policy that runs only scripts with the nonce, and what they load.
func strict(f *foyer, more string) string {
	return "default-src 'none'; img-src 'self'; script-src 'nonce-once' 'strict-dynamic'; connect-src 'self' " + f.URL + "; " + more
}

func want(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// clean checks that the page has seen no errors and no violations of its policy.
func clean(t *testing.T, got report) {
	t.Helper()
	want(t, "errors", []string{}, got.Errors)
	want(t, "violations", []string{}, got.Violations)
}

// Each page asks whether its stored manifest is current, and sends no cookies.
func testManifest(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(7, f.logging(1, "one"))
	p := page{before: `document.cookie = "a=b; path=/"
		const ask = fetch
		fetch = (url, how) => {
			if (url.endsWith("/manifest.json")) log.push(new Request(url, how).credentials)
			return ask(url, how)
		}`, script: "await ready"}
	for range 2 {
		got := b.open(t, f, p)
		want(t, "credentials and log", []string{"omit", "one"}, got.Log) // otherwise a server on the page's own origin would get cookies
		want(t, "site", f.token, got.Foyer.Site)
		want(t, "revision", 7, got.Foyer.Revision)
		clean(t, got)
	}
	asked := f.asked()
	if len(asked) != 2 {
		t.Fatalf("asked for the manifest %d times, by 2 pages", len(asked))
	}
	for _, r := range asked {
		if r.Header.Get("Cookie") != "" || !strings.Contains("no-cache max-age=0", r.Header.Get("Cache-Control")) {
			t.Errorf("asked with %v", r.Header)
		}
	}
}

func testServerStopped(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"), f.logging(2, "two"))
	p := page{script: "await ready; await pause()"}
	want(t, "log", []string{"one", "two"}, b.open(t, f, p).Log)
	f.stop()
	for range 2 {
		got := b.open(t, f, p)
		want(t, "log without a server", []string{"one", "two"}, got.Log)
		clean(t, got)
	}
}

// The page waits for its manifest, for a bundle whose turn it is, for that bundle to arrive at all, and for inject to
// return. The tests for what happens after these timeouts run with faster clocks.
func testWaits(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	got := b.open(t, f, page{script: "await ready; return waits.join()"})
	want(t, "milliseconds", any("3000,1000,10000,10000"), got.Value)
}

// The page waits at most 3 seconds for its manifest.
func testNoAnswer(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	want(t, "log", []string{"one"}, b.open(t, f, page{script: "await ready"}).Log)
	f.answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	got := b.open(t, f, page{before: "hurry(20, 1)", script: "await ready"})
	want(t, "log", []string{"one"}, got.Log)
	clean(t, got)
}

// A proxy's answer while the server is down is not a manifest. The stored one is used for 7 days.
func testOutage(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	b.open(t, f, page{script: "await ready"})
	days := func(n int) page { return page{before: fmt.Sprintf("ahead = %d * 86400e3", n), script: "await ready"} }
	for _, body := range []string{"<h1>default backend - 404</h1>", `{"message":"no Route matched with those values"}`} {
		f.answer(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, body)
		})
		want(t, "log after 6 days, with "+body, []string{"one"}, b.open(t, f, days(6)).Log)
	}
	got := b.open(t, f, days(8))
	want(t, "log after 8 days", []string{}, got.Log)
	clean(t, got)
}

// One of two servers may be a moment behind; a restored backup stays behind.
func testLowerRevision(t *testing.T, b *browser) {
	f := newFoyer(t)
	one, two := f.logging(1, "one"), f.logging(2, "two")
	f.publish(5, one, two)
	b.open(t, f, page{script: "await ready"})
	f.publish(4, one)
	got := b.open(t, f, page{script: "await ready"})
	want(t, "log", []string{"one", "two"}, got.Log)
	want(t, "revision", 5, got.Foyer.Revision)
	got = b.open(t, f, page{before: "ahead = 61e3", script: "await ready"})
	want(t, "log a minute later", []string{"one"}, got.Log)
	want(t, "revision", 4, got.Foyer.Revision)
}

func testDeletedSite(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(5, f.logging(1, "one"))
	b.open(t, f, page{script: "await ready"})
	f.answer(nil)
	got := b.open(t, f, page{script: "await ready"})
	want(t, "log", []string{}, got.Log)
	clean(t, got)
	f.stop()
	want(t, "log without a server", []string{}, b.open(t, f, page{script: "await ready"}).Log)
}

// A thousand wrong manifests, each for a site of its own, all on one page.
func testWrongManifests(t *testing.T, b *browser) {
	const many = 1000
	f := newFoyer(t)
	seed := rand.Uint64()
	t.Logf("manifests are made with seed %d", seed)
	f.wrong = wrongManifests(f, seed, many)
	got := b.open(t, f, page{element: " ", script: fmt.Sprintf(`
		let ended = 0
		addEventListener("foyer:ready", () => ended++)
		for (let i = 0; i < %d; i += %d) {
			const script = document.createElement("script")
			script.src = "%s/sites/WRONG" + i + "/loader.js"
			document.head.append(script)
			await until(() => ended === i + %[2]d)
		}
		const sites = [window.foyer, ...window.foyer.others].length
		delete window.foyer
		return sites`, many, batch, f.URL)})
	want(t, "sites", any(float64(many)), got.Value)
	clean(t, got)
}

// Other scripts of the page can write anything where the manifest is stored.
func testWrongStorage(t *testing.T, b *browser) {
	f := newFoyer(t)
	for _, text := range []string{"", "null", "{", "7", `{"at":1}`, `{"at":"x","manifest":{}}`, `{"at":"x","manifest":` + f.document(9, f.logging(2, "kept")) + `}`} {
		f.publish(1, f.logging(1, "one"))
		set := fmt.Sprintf("localStorage.setItem('foyer:%s', %q)", f.token, text)
		got := b.open(t, f, page{before: set, script: "await ready"})
		want(t, "log with "+text, []string{"one"}, got.Log)
		f.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		got = b.open(t, f, page{before: set, script: "await ready"})
		want(t, "log without a server with "+text, []string{}, got.Log)
		clean(t, got)
	}
}

// Without a server, a stored manifest counts only if it could be the server's, and is not from the future.
func testStoredManifest(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	kept := f.logging(2, "kept")
	good := f.document(9, kept)
	with := func(change func(*app)) string {
		changed := kept
		change(&changed)
		return f.document(9, changed)
	}
	log := func(ahead time.Duration, manifest string) []string {
		text := fmt.Sprintf(`{"at":%d,"manifest":%s}`, time.Now().Add(ahead).UnixMilli(), manifest)
		got := b.open(t, f, page{before: fmt.Sprintf("localStorage.setItem('foyer:%s', %q)", f.token, text), script: "await ready"})
		clean(t, got)
		return got.Log
	}
	want(t, "log", []string{"kept"}, log(0, good))
	want(t, "log with one from the future", []string{}, log(8*24*time.Hour, good))
	for _, wrong := range []string{
		strings.Replace(good, f.token, "another", 1),
		strings.Replace(good, `"revision":9`, `"revision":"9"`, 1),
		with(func(a *app) { a.ID = 0 }),
		with(func(a *app) { a.URL = newFoyer(t).logging(2, "kept").URL }),
		with(func(a *app) { a.Integrity = "x" + a.Integrity }), // browsers ignore a sum that they do not understand
		with(func(a *app) { a.Integrity += "*" }),
	} {
		want(t, "log with "+wrong, []string{}, log(0, wrong))
	}
}

// If a manifest does not fit into storage, no older one is used in its place while the server is down.
func testFullStorage(t *testing.T, b *browser) {
	f := newFoyer(t)
	one, two := f.logging(1, "one"), f.logging(2, "two")
	f.publish(1, one, two)
	b.open(t, f, page{script: "await ready"})
	one.Config = map[string]any{"text": strings.Repeat("x", 5000)}
	f.publish(2, one)
	got := b.open(t, f, page{before: `
		for (let text = "x".repeat(2 ** 22); text; ) {
			try { localStorage.setItem("junk" + localStorage.length, text) } catch { text = text.slice(text.length / 2 + 1) }
		}`, script: "await ready"})
	want(t, "log", []string{"one"}, got.Log)
	f.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	got = b.open(t, f, page{script: "await ready; localStorage.clear()"})
	want(t, "log without a server", []string{}, got.Log)
	clean(t, got)
}

// prototypeJS replaces what Prototype.js 1.6 replaces: built-in functions of browsers, and what JSON.stringify calls.
const prototypeJS = `
	for (const name of ["every", "some", "map", "filter", "find"]) {
		const own = Array.prototype[name]
		Array.prototype[name] = function (f) { return own.call(this, (value, i) => f(value, i)) }
	}
	Object.assign(Array.prototype, {
		entries() { return this.slice() },
		reduce() { return this.length > 1 ? this : this[0] },
		toJSON() { return "[" + this.map((value) => typeof value === "object" ? String(value) : JSON.stringify(value)).join(", ") + "]" },
	})
	Array.from = (list) => list.slice()
	Object.keys = (object) => { const keys = []; for (const key in object) keys.push(key); return keys }
	String.prototype.toJSON = function () { return '"' + this + '"' }
	Number.prototype.toJSON = function () { return String(this) }`

func testPrototypeJS(t *testing.T, b *browser) {
	f := newFoyer(t)
	at := func(a app, paths ...string) app {
		a.Paths = paths
		return a
	}
	f.publish(7, f.logging(1, "one"), at(f.logging(2, "two"), "!/"), at(f.logging(3, "three"), "/**", "!/"), at(f.logging(4, "four"), "!/shop", "!/blog"))
	p := page{before: prototypeJS, script: "await ready"}
	want(t, "log", []string{"one", "four"}, b.open(t, f, p).Log)
	told, body := f.beacon(t)
	if told.Revision != 7 || len(told.Apps) != 2 || told.Apps[0].State != "running" {
		t.Errorf("beacon: %s", body)
	}
	f.answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	got := b.open(t, f, p)
	want(t, "log without a server", []string{"one", "four"}, got.Log)
	clean(t, got)
}

// In a sandbox there is no storage, and even reading the property throws.
func testSandbox(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.app(1, "one", `export function inject() {
		try { localStorage } catch (error) { log.push(error.name) }
	}`))
	got := b.open(t, f, page{policy: "sandbox allow-scripts", query: "&foyer_preview=gone", script: "await ready"})
	want(t, "log", []string{"SecurityError"}, got.Log)
	clean(t, got)
	f.preview("abc", f.document(1, f.logging(2, "tried")))
	got = b.open(t, f, page{policy: "sandbox allow-scripts", query: "&foyer_preview=abc", script: "await ready; return bar()"})
	want(t, "log of a preview", []string{"tried"}, got.Log)
	want(t, "bar", any("foyer preview End it"), got.Value)
	clean(t, got)
}
