package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// hostileApp tries to access the console from the try page, which has the same origin, and reports the results.
const hostileApp = `
export async function inject() {
	const tried: Record<string, string> = {}
	const around = () => { if (parent === self) throw 0; return parent }
	const attempt = async (name: string, act: () => unknown) => {
		try { tried[name] = "got " + String(await act()).slice(0, 200) } catch (error) { tried[name] = "refused" }
	}
	await attempt("cookie", () => document.cookie)
	await attempt("the page around", () => around().document.title)
	await attempt("its cookie", () => around().document.cookie)
	await attempt("its storage", () => around().localStorage.length)
	await attempt("the top", () => { around().location.href = "about:blank"; return "moved" })
	await attempt("a page of the console", async () => (await fetch("/console/keys", { credentials: "include" })).text())
	await attempt("a form of the console", async () => (await fetch("/console/keys", { method: "POST", credentials: "include", body: new URLSearchParams({ do: "make", scopes: "*" }) })).text())
	await attempt("the API", async () => (await fetch("/api/users/@me", { credentials: "include" })).text())
	await attempt("a frame of the console", async () => {
		const frame = document.createElement("iframe")
		frame.src = "/console/keys"
		document.body.append(frame)
		await new Promise((done) => { frame.onload = done; setTimeout(done, 2000) })
		return frame.contentDocument!.body.innerText
	})
	await attempt("a window", () => open("/console/keys")!.document.title)
	await attempt("a service worker", () => navigator.serviceWorker.register("/console/x.js"))
	const say = document.createElement("pre")
	say.id = "tried"
	say.textContent = JSON.stringify(tried)
	document.body.append(say)
	parent.postMessage(JSON.stringify(tried), "*")
}
`

// An app gets nothing of the console, whatever it tries: neither in the frame beside the form of its values, nor on the try
// page in its own tab.
func TestHostileAppInTheConsole(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	i := launch(t, s)
	source, err := json.Marshal(map[string]any{"plugin_type": "source", "name": "Hostile", "source": map[string]string{"site.ts": hostileApp}})
	check(t, err)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", string(source), 201)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/sites", `{"name":"Shop"}`, 201)
	i.call(s["BOOTSTRAP_KEY"], "POST", "/sites/1/apps", `{"app_id":1}`, 201)
	ctx := browser(t)
	look(ctx, t, "hostile", "Sign in", chromedp.EmulateViewport(1366, 900), to(i.url+"/console"))
	look(ctx, t, "hostile", "My organization", fill("key", s["BOOTSTRAP_KEY"]), press("Sign in"))
	look(ctx, t, "hostile", "Hostile", to(i.url+"/console/@current/sites/1/apps/1"))
	said := func(how string, options ...chromedp.EvaluateOption) {
		t.Helper()
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](how, options...))
		check(t, err)
		var tried map[string]string
		if err := json.Unmarshal([]byte(text), &tried); err != nil || len(tried) < 11 {
			t.Fatalf("%s: %v", text, err)
		}
		for _, what := range slices.Sorted(maps.Keys(tried)) {
			if strings.HasPrefix(tried[what], "got ") {
				t.Errorf("%s: %s", what, tried[what])
			}
		}
	}
	said(`new Promise((done) => {
		addEventListener("message", (event) => done(event.data))
		const frame = document.querySelector("iframe.preview")
		frame.src = frame.src
	})`, chromedp.EvalAwaitPromise)
	look(ctx, t, "hostile", "Hostile")
	keys := i.call(s["BOOTSTRAP_KEY"], "GET", "/keys", "", 200)
	if strings.Count(keys, `"prefix"`) != 1 {
		t.Errorf("a key was made: %s", keys)
	}
	try, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector("iframe.preview").src`))
	check(t, err)
	look(ctx, t, "hostile", "Shop", to(try), waitFor("#tried"))
	said(`document.getElementById("tried").textContent`)
	look(ctx, t, "hostile", "Your keys", to(i.url+"/console/keys"))
}
