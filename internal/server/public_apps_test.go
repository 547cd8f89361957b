package server_test

import (
	"context"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/upstream/upstreamtest"
)

// publicApps have the plugin.json files of six public apps, and use their values as these apps do: they make shadow
// trees with styles and HTML, read storage at once, capture forms, and ask for feature flags, which a page without
// PostHog never answers.
var publicApps = []struct{ manifest, site, logs string }{
	{"plugin_json/PostHog__notification-bar-app.json", `
		export function inject({ config }) {
			const key = "closed " + config.notification
			if (config.rememberClose === "yes" && localStorage.getItem(key)) return
			const bar = root("p { color: " + config.textColor + "; background: " + config.backgroundColor + " }" + config.cssOverride)
			bar.append(Object.assign(document.createElement("p"), { innerHTML: config.notification }))
			addEventListener("foyer:capture", (e: any) => log.push(e.detail.event + " " + JSON.stringify(e.detail.properties)))
			localStorage.setItem(key, "no more")
			log.push(config.position + " " + bar.querySelector("strong").textContent)
		}`, "sticky Product 2.0!"},
	{"plugin_json/PostHog__bug-report-app.json", `
		export function inject({ config, posthog }) {
			if (config.domains && !config.domains.split(",").includes(location.hostname)) return
			const tree = root(".form { z-index: " + parseInt(config.zIndex) + " }")
			const form = Object.assign(document.createElement("form"), {
				innerHTML: "<textarea name=bug></textarea><button>" + config.sendButtonText + "</button><p>" + config.footerHTML + "</p>",
				onsubmit: (e) => {
					e.preventDefault()
					const recording = posthog?.sessionRecording?.sessionId
					posthog.capture(config.eventName, { [config.bugProperty]: form.bug.value, recording })
				},
			}) as any
			tree.append(form)
			form.bug.value = "it rattles"
			form.requestSubmit()
		}`, `bug Sent {"$bug":"it rattles"}`},
	{"plugin_json/PostHog__early-access-features-app.json", `
		export function inject({ config, posthog }) {
			root(".list { z-index: " + (parseInt(config.zIndex) || 99999) + " }")
			if (config.useButton === "Yes") log.push("a button that nobody asked for")
			posthog.getEarlyAccessFeatures((features) => log.push("features " + features.length))
			log.push("early " + JSON.stringify(config))
		}`, `early {"selector":"","useButton":"No"}`},
	{"plugin_json/PostHog__feature-surveys.json", `
		export function inject({ config, posthog }) {
			if (config.domains && !config.domains.split(",").includes(location.hostname)) return
			posthog.getActiveMatchingSurveys((surveys) => log.push("surveys " + surveys.length), true)
			log.push("surveys " + JSON.stringify(config))
		}`, `surveys {"domains":""}`},
	{"plugin_json/PostHog__nps-survey-app.json", `
		export function inject({ config, posthog }) {
			const tree = root(".button { cursor: pointer }")
			for (let i = 0; i <= 10; i++) {
				tree.append(Object.assign(document.createElement("button"), { innerText: i, onclick: () => posthog.capture("rated", { value: i }) }))
			}
			tree.querySelectorAll("button")[7].click()
			if (Object.keys(config).length !== 12) log.push(JSON.stringify(config))
		}`, `rated {"value":7}`},
	{"plugin_json_variants/feedback-app_6f25a6c_number_type.json", `
		export function inject({ config, posthog }) {
			root(".button { color: " + (config.buttonColor || "black") + " }")
			posthog.onFeatureFlags((flags) => log.push("flags " + flags))
			log.push(config.useButton + " " + config.buttonText + " " + typeof config.zIndex)
			say("all")
		}`, "Yes ✉️ number"},
}

// shadow is the beginning of all of them.
const shadow = `
	declare const log: string[], say: (id: string) => void
	function root(css: string): any {
		const host = document.createElement("div"), tree = host.attachShadow({ mode: "open" })
		tree.append(Object.assign(document.createElement("style"), { innerText: css }))
		document.body.append(host)
		return tree
	}`

// Six public apps, installed as they are published and placed with their defaults only, run by one element, with the
// policy for scripts in the docs.
func testPublicApps(tab context.Context, t *testing.T) {
	host := upstreamtest.NewHost(t)
	s := open(tab, t, start(t, config.Config{}))
	s.csp = "script-src 'nonce-once' 'strict-dynamic'; connect-src 'self' " + s.URL
	var logs []string
	for _, app := range publicApps {
		repo := host.Repo(t, path.Base(app.manifest))
		repo.Commit(t, map[string]string{"plugin.json": string(must(os.ReadFile(testdata + app.manifest))(t)), "site.ts": shadow + app.site})
		installed := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		placed := must(s.PlaceApp(t.Context(), s.site.ID, client.PlacementDraft{AppID: installed.ID}))(t)
		if placed.Held != nil {
			t.Errorf("%s: %s", app.manifest, *placed.Held)
		}
		logs = append(logs, app.logs)
	}
	s.sees(t, "", "all: "+strings.Join(logs, ","), "ready: "+strings.Join(logs, ","))
}

// The try page runs apps that read storage at once and that have forms, without the origin of the console, and reports
// nothing.
func testTryPage(tab context.Context, t *testing.T) {
	s := open(tab, t, start(t, config.Config{}))
	app := s.app(t, `export function inject() {
		const say = (text) => fetch("`+s.url+`/saw?what=" + encodeURIComponent(text), { mode: "no-cors" })
		const form = document.querySelector("form")
		localStorage.setItem("a", sessionStorage.getItem("b") + " kept")
		form.addEventListener("submit", async (e) => {
			e.preventDefault()
			await say(origin + " " + localStorage.getItem("a"))
			localStorage.theme = 1
			localStorage.setItem("key", "k")
			const found = [localStorage.a, localStorage.getItem("theme"), "theme" in localStorage, Object.keys(localStorage), localStorage.length]
			say([...found, delete localStorage.theme, localStorage.theme, localStorage.key(1)].join())
		})
		form.requestSubmit()
	}`)
	made := must(s.PreviewApp(t.Context(), s.site.ID, app.ID, client.PreviewDraft{URL: s.URL + "/sites/" + s.site.Token + "/try"}))(t)
	check(t, chromedp.Do(tab, chromedp.Navigate(made.URL)))
	s.says(t, "null null kept", "null kept,1,true,a,theme,key,3,true,,key")
}
