package loader_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A preview shows in one tab only, until it is ended there.
func testPreview(t *testing.T, b *browser) {
	f := newFoyer(t)
	one, tried := f.logging(1, "one"), f.app(2, "tried", `export function inject() { log.push("tried at " + location.search + location.hash) }`)
	f.publish(1, one)
	f.preview("abc_1", f.document(1, one, tried))
	another := b.add(page{element: f.element(), script: `
		await ready
		await server(log.join() === "one" && bar() === "" ? "other tab" : "wrong")
		close()
		await new Promise(() => {})`, do: map[string]func(){"other tab": func() { f.publish(3, one) }, "wrong": func() { t.Error("another tab sees the preview") }}})

	got := b.open(t, f, page{query: "&foyer_preview=abc_1&x=%20#part", script: `await ready; return bar()`})
	id := strings.TrimPrefix(strings.Split(got.Log[1], "&")[0], "tried at ?page=")
	want(t, "log", []string{"one", "tried at ?page=" + id + "&x=%20#part"}, got.Log)
	want(t, "bar", any("foyer preview End it"), got.Value)
	clean(t, got)

	got = b.open(t, f, page{policy: strict(f, ""), script: `
		await ready
		open("/?page=` + another + `", "_blank", "noopener")
		const revision = async () => (await (await fetch("` + f.URL + `/sites/` + f.token + `/manifest.json", { cache: "no-store" })).json()).revision
		while (await revision() !== 3) await pause()
		return bar()`})
	want(t, "apps of the next page", 2, len(got.Log))
	want(t, "bar of the next page", any("foyer preview End it"), got.Value)
	clean(t, got)

	got = b.open(t, f, page{script: `
		await ready
		if (log.length > 1) {
			document.querySelector("button").click()
			await new Promise(() => {})
		}
		return bar()`})
	want(t, "log after the end", []string{"one"}, got.Log)
	want(t, "bar after the end", any(""), got.Value)
	clean(t, got)
	b.open(t, f, page{element: " "}) // leaves the page
	for range 2 {                    // from the other tab, and from after the end
		if told, body := f.beacon(t); len(told.Apps) != 1 {
			t.Errorf("beacon: %s", body)
		}
	}
	want(t, "beacons of previews", 0, len(f.beacons))
}

// A preview that the server cannot deliver continues when it can. Only the server ends it, and no visitor's page is
// shown in its place meanwhile.
func testPreviewWhileDown(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.logging(1, "one")
	f.publish(1, one)
	f.preview("abc", "<title>502</title>")
	got := b.open(t, f, page{query: "&foyer_preview=abc", script: "await ready; return bar()"})
	want(t, "log", []string{}, got.Log)
	want(t, "bar", any("foyer preview End it"), got.Value)
	f.preview("abc", f.document(1, one, f.app(2, "tried", `export const inject = () => () => log.push("undone")`)))
	got = b.open(t, f, page{
		script: `
			await ready
			await server("down");` + shownAgain + `
			await until(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("preview=")).length === 2)
			await pause()`,
		do: map[string]func(){"down": func() { f.preview("abc", "<title>502</title>") }},
	})
	want(t, "states of the next page", []string{"one running", "tried running"}, got.Foyer.states())
}

// A preview that has expired, or never existed, shows nothing, and an app that only it had is stopped. Its other apps
// run until the page is loaded again, and the bar stays until then.
func testPreviewEnds(t *testing.T, b *browser) {
	f := newFoyer(t)
	one := f.logging(1, "one")
	f.publish(1, one)
	got := b.open(t, f, page{query: "&foyer_preview=nonsense", script: "await ready; return location.search"})
	want(t, "log", []string{"one"}, got.Log)
	if search, _ := got.Value.(string); strings.Contains(search, "foyer_preview") {
		t.Errorf("the address still has the preview: %s", search)
	}
	f.preview("abc", f.document(1, one, f.app(2, "tried", `export const inject = () => () => log.push("undone")`)))
	got = b.open(t, f, page{
		query: "&foyer_preview=abc",
		script: `await ready; await server("end");` + shownAgain + `
			await until(() => log.includes("undone"))
			return bar()`,
		do: map[string]func(){"end": func() { f.preview("abc", "") }},
	})
	want(t, "log", []string{"one", "undone"}, got.Log)
	want(t, "bar", any("foyer preview End it"), got.Value)
	got = b.open(t, f, page{script: "await ready; return bar()"})
	want(t, "log of the next page", []string{"one"}, got.Log)
	want(t, "bar of the next page", any(""), got.Value)
}

// A link that anybody can make, with a preview too long for any request, shows nothing, and stops no app.
func testPreviewTooLong(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	got := b.open(t, f, page{query: "#?foyer_preview=" + strings.Repeat("a", 20_000), script: "await ready; return bar() + location.hash"})
	want(t, "log", []string{"one"}, got.Log)
	want(t, "bar and fragment", any(""), got.Value)
	got = b.open(t, f, page{script: "await ready; return bar()"})
	want(t, "log of the next page", []string{"one"}, got.Log)
	clean(t, got)
}

// A preview that the page has put back into its address, as filters that keep the query do, also ends.
func testPreviewPutBack(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	f.preview("abc", f.document(1, f.logging(2, "tried")))
	got := b.open(t, f, page{before: "const query = location.search", query: "&foyer_preview=abc", script: `
		await ready
		if (!sessionStorage.ended) {
			sessionStorage.ended = bar()
			history.replaceState(null, "", query + "&tab=2")
			document.querySelector("button").click()
			await new Promise(() => {})
		}
		const ended = sessionStorage.ended
		sessionStorage.clear()
		return ended + ", " + location.search.replace(/page=\d+/, "page") + bar()`})
	want(t, "log after the end", []string{"one"}, got.Log)
	want(t, "bar, address and bar after the end", any("foyer preview End it, ?page&tab=2"), got.Value)
	clean(t, got)
}

// A preview of the second site on a page works, even though the first site's loader takes it out of the address.
func testPreviewOfTheSecondSite(t *testing.T, b *browser) {
	f, g := newFoyer(t), newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	g.publish(1, g.logging(2, "two"))
	g.preview("abc", g.document(1, g.app(3, "tried", `export function inject() { log.push("tried " + location.search.includes("preview")) }`)))
	for _, before := range []string{"", prototypeJS} {
		got := b.open(t, f, page{
			before: "sessionStorage.clear()\n" + before, query: "&foyer_preview=abc", element: strings.ReplaceAll(f.element()+g.element(), "async ", ""),
			script: "await until(() => log.length > 1); return bar()",
		})
		slices.Sort(got.Log)
		want(t, "log", []string{"one", "tried false"}, got.Log)
		want(t, "bar", any("foyer preview End it"), got.Value)
		clean(t, got)
	}
}

// Each preview is taken out of the query, and out of the query that a router keeps in the fragment. Parameters with
// similar names, and the fragment itself, are not previews.
func testPreviewInTheAddress(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1, f.logging(1, "one"))
	f.preview("abc", f.document(1, f.logging(2, "tried")))
	const script = `
		await ready
		sessionStorage.clear()
		return location.search.replace(/page=\d+/, "page") + location.hash`
	for _, address := range []struct{ query, left, ran string }{
		{"#foyer_preview=abc", "?page#foyer_preview=abc", "one"},
		{"#/shop?foyer_preview=abc", "?page#/shop", "tried"},
		{"#/shop?a=1&foyer_preview=abc&b=2", "?page#/shop?a=1&b=2", "tried"},
		{"&x_foyer_preview=abc", "?page&x_foyer_preview=abc", "one"},
		{"&foyer_preview=abc&foyer_preview=abc&a=1&foyer_preview=x#b", "?page&a=1#b", "tried"},
		{"&foyer_preview=abc&x_foyer_preview=x&foyer_preview=", "?page&x_foyer_preview=x", "tried"},
	} {
		got := b.open(t, f, page{query: address.query, script: script})
		want(t, "address after "+address.query, any(address.left), got.Value)
		want(t, "log after "+address.query, []string{address.ran}, got.Log)
		clean(t, got)
	}
}

type beacon struct {
	Revision int
	Sample   float64
	Apps     []struct {
		ID, Version int
		State       string
		MS          *int
	}
	Errors []struct {
		ID, Version   int
		Name, Message string
		Line, Column  int
	}
}

func (f *foyer) beacon(t *testing.T) (b beacon, raw string) {
	t.Helper()
	select {
	case raw = <-f.beacons:
	case <-time.After(patience):
		t.Fatal("no beacon")
	}
	body, ok := strings.CutPrefix(raw, "POST text/plain;charset=UTF-8 ")
	if err := json.Unmarshal([]byte(body), &b); !ok || err != nil { //nolint:musttag // its names are matched in any case; anything else would have been asked for first
		t.Fatalf("beacon %q: %v", raw, err)
	}
	return b, body
}

// A page reports once how its apps run, and once more when it is left, if something has failed since.
func testBeacon(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(7,
		f.app(1, "one", "export function inject({ foyer }) {\n  ahead += 5e3; window.say = foyer.report\n  window.fall = () => { throw new TypeError('after') }\n}"),
		f.app(2, "two", "\n\nexport function inject() {\n  throw new RangeError('"+strings.Repeat("é", 500)+"')\n}"),
	)
	got := b.open(t, f, page{
		before: `const ask = fetch
			fetch = (url, how) => {
				const { mode, credentials } = new Request(url, how)
				if (url.endsWith("/beacon")) log.push(mode + " " + credentials + " " + how.keepalive)
				return ask(url, how)
			}`,
		script: `await ready
			dispatchEvent(new Event("pagehide")) // nothing has failed since
			say("told"); wait(fall); await until(() => seen.length)`,
	})
	want(t, "mode, credentials and keepalive", []string{"cors omit true"}, got.Log)
	want(t, "states", []string{"one running", "two failed"}, got.Foyer.states())
	first, body := f.beacon(t)
	want(t, "revision", 7, first.Revision)
	want(t, "sample", 1.0, first.Sample)
	if len(first.Apps) != 2 || first.Apps[0].ID != 1 || first.Apps[0].Version != 10 || first.Apps[0].State != "running" || first.Apps[1].State != "failed" || first.Apps[1].MS == nil || first.Apps[0].MS == nil || *first.Apps[0].MS < 5e3 || *first.Apps[0].MS > 99e3 {
		t.Errorf("first beacon: %s", body)
	}
	if len(first.Errors) != 1 {
		t.Fatalf("first beacon: %s", body)
	}
	e := first.Errors[0]
	if e.ID != 2 || e.Version != 20 || e.Name != "RangeError" || e.Message != strings.Repeat("é", 300) || e.Line != 4 || e.Column < 3 {
		t.Errorf("error is %+v", e)
	}
	b.open(t, f, page{element: " "}) // leaves the page
	second, body := f.beacon(t)
	if len(second.Apps) != 0 || len(second.Errors) == 0 {
		t.Fatalf("second beacon: %s", body)
	}
	want(t, "told error", "told", second.Errors[0].Message)
	if b.kind == "webkit" { // it has no source in errors of events
		want(t, "errors", 1, len(second.Errors))
	} else if e := second.Errors[1]; e.Name != "TypeError" || e.Message != "after" || e.Line != 3 {
		t.Errorf("error is %+v", e)
	}
	if diff := cmp.Diff(0, len(f.beacons)); diff != "" {
		t.Errorf("more beacons: %s", diff)
	}
}

// No beacon is sent without apps, by a page outside the sample, or by the try page, and no third one. No beacon has more
// than nine errors, or is larger than 8 KB: apps are left out at random.
func testNoBeacon(t *testing.T, b *browser) {
	f := newFoyer(t)
	f.publish(1)
	b.open(t, f, page{script: "await ready"})
	sample := func(part, manifest string) {
		f.answer(constant(strings.Replace(manifest, `"sample":1`, `"sample":`+part, 1)))
	}
	half := page{before: "Math.random = () => 0.5", script: "await ready"}
	for _, part := range []string{"0", "0.4"} {
		sample(part, f.document(2, f.logging(1, "one")))
		b.open(t, f, half)
	}
	f.publish(2, f.logging(1, "one"))
	b.open(t, f, page{path: "/sites/" + f.token + "/try", script: "await ready"})
	f.publish(2, f.app(2, "loud", `export function inject({ foyer }) {
		window.say = (what) => { for (let i = 0; i < 12; i++) foyer.report(what) }
		say("€".repeat(300))
	}`))
	b.open(t, f, page{script: `await ready
		for (const what of ["a", "b"]) { say(what); dispatchEvent(new Event("pagehide")) }`})
	first, body := f.beacon(t)
	second, more := f.beacon(t)
	if len(first.Apps) == 0 { // it has overtaken
		first, body, second, more = second, more, first, body
	}
	if len(body) > 8192 || len(first.Errors) != 8 {
		t.Errorf("first beacon has %d errors, %d bytes", len(first.Errors), len(body))
	}
	if len(second.Errors) != 9 || second.Errors[8].Message != "a" {
		t.Errorf("second beacon: %s", more)
	}
	many := make([]app, 200)
	same := f.app(1, "same", `export function inject() { throw new Error("\u0001".repeat(300)) }`)
	for i := range many {
		many[i] = same
		many[i].ID = 1_000_000_000 + i
	}
	sample("0.6", f.document(3, many...))
	b.open(t, f, half)
	only, body := f.beacon(t)
	if only.Revision != 3 || only.Sample != 0.6 || len(body) > 8192 || len(only.Apps) < 100 {
		t.Fatalf("%d bytes: %s", len(body), body)
	}
	if from, to := only.Apps[0].ID, only.Apps[len(only.Apps)-1].ID; from != many[0].ID || to != many[199].ID {
		t.Errorf("the apps from %d to %d, of %d to %d", from, to, many[0].ID, many[199].ID)
	}
}
