package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db/dbtest"
)

// fill returns what a browser sends for the form with the given button, with other values in some fields. The value
// "on" ticks a box, and "" unticks it.
func (s shown) fill(t *testing.T, do string, changed ...string) []string {
	t.Helper()
	page := must(html.Parse(strings.NewReader(s.body)))(t)
	for form := range page.Descendants() {
		if form.Data != "form" || !slices.ContainsFunc(slices.Collect(form.Descendants()), func(n *html.Node) bool {
			return n.Data == "button" && attribute(n, "name") == "do" && attribute(n, "value") == do
		}) {
			continue
		}
		sent := append([]string{"do", do}, changed...)
		for n := range form.Descendants() {
			if name := attribute(n, "name"); name != "" && !slices.Contains(changed, name) && n.Data != "button" {
				sent = append(sent, shownIn(n, name)...)
			}
		}
		return sent
	}
	t.Fatalf("no form for %s on the page:\n%s", do, s.body)
	return nil
}

// shownIn returns what a browser sends for an unchanged field.
func shownIn(n *html.Node, name string) []string {
	value := attribute(n, "value")
	switch {
	case n.Data == "textarea" && n.FirstChild != nil:
		value = n.FirstChild.Data
	case n.Data == "select":
		for option := range n.Descendants() {
			if has(option, "selected") {
				value = attribute(option, "value")
			}
		}
	case (attribute(n, "type") == "checkbox" || attribute(n, "type") == "radio") && !has(n, "checked"):
		return nil
	case attribute(n, "type") == "checkbox" && value == "":
		value = "on"
	}
	return []string{name, value}
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// No field cuts what is pasted: browsers count other characters than the API, and say nothing.
func TestConsoleFieldsTakeAllThatIsPasted(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := furnish(t, s)
	v := visit(t, s, s.key)
	long := strings.Repeat("🙂", 201)
	for page, form := range map[string][]string{
		"/apps/new?way=own":              {"do", "source", "name", long},
		"/apps/" + itoa(app) + "/source": {"do", "save", "message", strings.Repeat(long, 3), "filename", "a.ts", "text", "1"},
	} {
		if _, main, _ := strings.Cut(v.get("/console/@current"+page).body, "<main"); strings.Contains(main, "maxlength") {
			t.Errorf("%s cuts what is pasted:\n%s", page, main)
		}
		v.want(400, long, v.post("/console/@current"+page, form...))
	}
}

// If two users have a form open at the same time, each changes only what they have edited, even if the form is refused
// at first.
func TestConsoleFormsOfTwo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := banner(t, s, `[{"key":"a","type":"string","site":true},{"key":"b","type":"string","site":true},{"key":"a_was","type":"string","site":true}]`)
		site, placed := place(t, s, app.ID)
		webhook := must(s.CreateWebhook(t.Context(), client.WebhookPatch{URL: new("https://x.example/"), Events: []string{"site.*", "app.*"}}))(t)
		v := visit(t, s, s.key)
		const home = "/console/@current"
		sites := home + "/sites/" + itoa(site)
		for _, tc := range []struct {
			path, do             string
			first, wrong, second []string // of one user, and of the other, who is refused at first
			said                 string
			got                  func() any
			want                 string
		}{
			{
				placed, "save",
				[]string{"enabled", "", "version", "1", "paths", "/a/**", "position", "7", "config.a", "one\r\ntwo"},
				[]string{"config.b", " b ", "position", "x"},
				[]string{"position", "1"},
				"Banner is changed, but still off on Shop",
				func() any { return must(s.GetPlacement(t.Context(), site, app.ID))(t) },
				`"enabled":false,"position":7,"version":1,"running":null,"held":null,"paths":["/a/**"],"config":{"a":"one\ntwo","b":" b "}`,
			},
			{
				sites, "describe",
				[]string{"origins", "https://shop.example.com\r\nhttps://x.example"},
				[]string{"name", ""},
				[]string{"name", "Store"},
				"Store is changed: name.",
				func() any { return must(s.GetSite(t.Context(), site))(t) },
				`"enabled":true,"origins":["https://shop.example.com","https://x.example"]`,
			},
			{
				home + "/webhooks/" + itoa(webhook.ID), "describe",
				[]string{"description", "CI"},
				[]string{"receiver", "x"},
				[]string{"receiver", "https://y.example/"},
				"The webhook is changed: address.",
				func() any { return must(s.GetWebhook(t.Context(), webhook.ID))(t) },
				`"url":"https://y.example/","events":["site.*","app.*"],"description":"CI"`,
			},
			{
				home + "/settings", "set",
				[]string{"members_can_invite", "", "name", "Acme"},
				[]string{"members_can_manage_apps", "on", "allowed_domains", "x"},
				[]string{"allowed_domains", ""},
				"The settings of Acme are changed: who may manage apps and sites.",
				func() any { return must(s.Get(t.Context()))(t) },
				`"members_can_invite":false,"members_can_manage_apps":true,`,
			},
			{
				"/console/profile", "names",
				[]string{"last_name", "Hopper"},
				[]string{"first_name", strings.Repeat("x", 31)},
				[]string{"first_name", "Grace"},
				"You are now called Grace.",
				func() any {
					return must(must(client.New(s.URL, s.key))(t).Self(t.Context()))(t)
				},
				`"first_name":"Grace","last_name":"Hopper"`,
			},
		} {
			opened := v.get(tc.path)
			refused := v.post(tc.path, opened.fill(t, tc.do, tc.wrong...)...)
			v.want(400, "That did not work", refused)
			v.want(200, "", v.post(tc.path, opened.fill(t, tc.do, tc.first...)...))
			mended := refused.fill(t, tc.do, tc.second...)
			v.want(200, tc.said, v.post(tc.path, mended...))
			if got := string(must(json.Marshal(tc.got()))(t)); !strings.Contains(got, tc.want) {
				t.Errorf("%s: %s, want %s", tc.path, got, tc.want)
			}
			v.want(200, "", v.post(tc.path, v.get(tc.path).fill(t, tc.do)...))
			if got := string(must(json.Marshal(tc.got()))(t)); !strings.Contains(got, tc.want) {
				t.Errorf("%s, sent as it was: %s", tc.path, got)
			}
		}
	})
}

// A form that one user opened is not carried out for another one, who has signed in since in the same browser.
func TestConsoleFormOfAnotherUser(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		const page = "/console/@current/apps/new?way=own"
		opener, now := visit(t, s, s.key), visit(t, s, joinAs(t, s, "ada@x.example"))
		form := opener.get(page).fill(t, "source", "name", "Banner", "description", "For the shop")
		refused := now.post(page, form...)
		now.want(403, "as another user than the one who is signed in now", refused)
		now.want(403, "For the shop", refused)
		opener.want(200, "Banner", opener.post(page, form...))
	})
}

// Browsers remove line breaks from single-line fields: that does not count as an edit of a name that has some.
func TestConsoleNameOfTwoLines(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Two\nlines"}))(t)
		webhook := must(s.CreateWebhook(t.Context(), client.WebhookPatch{URL: new("https://x.example/"), Description: new("Two\nlines"), Events: []string{"app.*"}}))(t)
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(app.ID)
		v.want(200, "The description of", v.post(page, "do", "describe", "name", "Twolines", "was.name", v.get(page).hidden("was.name")[0], "description", "New"))
		page = "/console/@current/webhooks/" + itoa(webhook.ID)
		v.want(200, "The webhook is changed: events.", v.post(page, "do", "describe", "events", "site.*", "description", "Twolines", "was.description", v.get(page).hidden("was.description")[0], "receiver", "https://x.example/", "was.receiver", "https://x.example/"))
		if got := must(s.GetApp(t.Context(), app.ID))(t); got.Name != "Two\nlines" || got.Description != "New" {
			t.Errorf("%+v", got)
		}
		if got := must(s.GetWebhook(t.Context(), webhook.ID))(t); got.Description != "Two\nlines" {
			t.Errorf("%+v", got)
		}
	})
}

// A setting that a form does not show is not changed: here the box of an organization that may not change apps.
func TestConsoleFormWithoutABox(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		cfg := config.Config{Database: url}
		s := start(t, cfg)
		d := openDomain(t, cfg)
		id := must(s.Get(t.Context()))(t).ID
		must(d.Organizations.Set(t.Context(), access.Caller{}, id, org.Settings{MembersCanManageApps: new(true), AppAccess: new(access.ReadApps)}))(t)
		v := visit(t, s, s.key)
		const page = "/console/@current/settings"
		v.want(200, "The settings of Acme are changed: the name.", v.post(page, v.get(page).fill(t, "set", "name", "Acme")...))
		if o := must(s.Get(t.Context()))(t); !o.MembersCanManageApps {
			t.Errorf("%+v", o)
		}
	})
}

// A form shows all of its faults at once, each at its own field.
func TestConsoleFaultsTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{
			PluginType: client.PluginSource, Name: "Banner", Source: client.Files{"site.ts": "export function inject() {}", "a.ts": "a"},
			ConfigSchema: []byte(`[{"key":"n","type":"number","site":true},{"key":"j","type":"json","site":true}]`),
		}))(t).ID
		_, placed := place(t, s, app)
		v := visit(t, s, s.key)
		const home = "/console/@current"
		source := home + "/apps/" + itoa(app) + "/source"
		for _, do := range []string{"save", "preview"} {
			form := v.get(placed).fill(t, do, "config.n", "abc", "config.j", "{x", "version", "x")
			for _, want := range []string{`<a href="#config.n">`, `<a href="#config.j">`, `<a href="#version">`} {
				v.want(400, want, v.post(placed, form...))
			}
		}
		v.want(400, `<a href="#position">Position: Must be a whole number.`, v.post(placed, v.get(placed).fill(t, "save", "config.n", "abc", "position", "")...))

		files := func(changed ...string) shown {
			return v.post(source, append([]string{"do", "save", "filename", "site.ts", "sha256", v.opened(source + "?file=site.ts"), "text", "1"}, changed...)...)
		}
		stale := files("filename", "a.ts", "sha256", "x", "text", "2", "filename", "site.ts", "sha256", "", "text", "3")
		v.want(400, `<a href="#text-2">Text: a.ts has changed since you opened it: somebody else changed it, or an earlier save of yours arrived late.`, stale)
		v.want(400, `<a href="#filename-3">File name: There is a file site.ts`, stale)
		v.want(400, `id="filename-3" name="filename" aria-invalid="true"`, stale)
		if n := strings.Count(stale.body, `aria-invalid="true"`); n != 2 {
			t.Errorf("%d fields are marked", n)
		}
		v.want(400, `<a href="#filename">File name: "../x" cannot be the name`, v.post(source, "do", "save", "filename", "../x"))
		several := files("filename", "../x", "sha256", "", "text", "")
		v.want(400, `<li>File: "../x" cannot be the name`, several)
		v.lacks(400, `aria-invalid="true"`, several)
	})
}

// An app can be made with the longest description, in any script.
func TestConsoleMakesWithLongDescription(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	v := visit(t, s, s.key)
	long := strings.Repeat("界", 10_000)
	made := v.post("/console/@current/apps/new", "do", "source", "name", "Banner", "description", long)
	if made.status != 200 {
		t.Fatalf("%d: %.2000s", made.status, made.body)
	}
	apps := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t)
	if len(apps.Results) != 1 || apps.Results[0].Description != long {
		t.Errorf("made are %d, of which the description is lost", len(apps.Results))
	}
}
