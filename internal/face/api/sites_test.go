package api_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	sites       = "/sites/"
	siteOptions = `[{"key":"color","type":"string","site":true,"required":true},{"key":"size","type":"choice","choices":["S","M"],"default":"M","site":true}]`
)

// site makes a site as the owner and returns its id.
func (r *rig) site(name string) string {
	r.t.Helper()
	return between(r.create(sites, `{"name":"`+name+`"}`), `{"id":`, ",")
}

// placed places an app on a site.
func (r *rig) placed(site, body string) {
	r.t.Helper()
	r.create(sites+site+"/apps", body)
}

// built makes an app with a bundle and returns its id.
func (r *rig) built(schema string) string {
	r.t.Helper()
	id := r.app(`{"name":"built","plugin_type":"source","config_schema":` + schema + `}`)
	r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"source":{"site.ts":"export function inject() {}"}}`, 200)
	return id
}

// gone returns the path of a disabled app's bundle.
func (r *rig) gone() string {
	r.t.Helper()
	id := r.built("null")
	bundle := between(r.send(r.key, "GET", apps+id+"/source", "").body, `"url":"`+baseURL, `"`)
	r.send(r.key, "POST", apps+id+"/disable", `{"reason":"x"}`)
	return bundle
}

func (r *rig) siteToken(id string) string {
	r.t.Helper()
	return between(r.send(r.key, "GET", sites+id, "").body, `"token":"`, `"`)
}

func TestSitesAPI(t *testing.T) {
	each(t, func(r *rig) {
		now := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
		r.db.Now = func() time.Time { return now }
		id, app := r.site("shop"), r.built(siteOptions)
		token := r.siteToken(id)
		const at = `"2026-11-23T09:30:00.000000Z"`
		site := func(revision, count string) string {
			return `{"id":` + id + `,"name":"shop","token":"` + token + `","enabled":true,"origins":[],"revision":` + revision + `,"apps_count":` + count +
				`,"snippet":"<script async src=\"` + baseURL + `/sites/` + token + `/loader.js\"></script>","created_at":` + at + `,"updated_at":` + at + `}`
		}
		r.want("GET", sites+id, "", 200, site("1", "0"))
		r.want("GET", sites, "", 200, `{"count":1,"next":null,"previous":null,"results":[`+site("1", "0")+`]}`)
		placed := func(config, values string) string {
			return `"app_id":` + app + `,"name":"built","enabled":true,"position":1,"version":null,"running":1,"held":null,"paths":["/shop/**"],"config":` + config +
				`,"values":` + values + `,"created_at":` + at + `,"updated_at":` + at + `}`
		}
		r.want("POST", sites+id+"/apps", `{"app_id":`+app+`,"paths":["/shop/**"],"config":{"color":"red"}}`, 201, "{"+placed(`{"color":"red"}`, `{"color":"red","size":"M"}`))
		r.want("PATCH", sites+id+"/apps/"+app, `{"config":{"size":"S"}}`, 200, "{"+placed(`{"color":"red","size":"S"}`, `{"color":"red","size":"S"}`))
		last := placed(`{"color":"red"}`, `{"color":"red","size":"M"}`)
		r.want("PATCH", sites+id+"/apps/"+app, `{"config":{"size":null}}`, 200, "{"+last)
		r.want("GET", sites+id+"/apps", "", 200, `{"count":1,"next":null,"previous":null,"results":[{`+last+`]}`)
		r.want("GET", apps+app+"/sites", "", 200, `{"count":1,"next":null,"previous":null,"results":[{"site":{"id":`+id+`,"name":"shop","token":"`+token+`"},`+last+`]}`)
		r.want("PATCH", sites+id+"/apps/"+app, `{"config":{"color":null}}`, 400,
			faultBody("validation_error", "required", "Must be given: the app needs it.", `"config.color"`))
		r.want("PATCH", sites+id+"/apps/"+app, `{"config":{"color":"a\u0000"}}`, 400,
			faultBody("validation_error", "invalid_input", "Must not contain the NUL character.", `"config.color"`))
		history := r.send(r.key, "GET", sites+id+"/history?limit=1", "")
		if !strings.HasPrefix(history.body, `{"count":4,`) || !strings.Contains(history.body, `"revision":4,"apps":[{"id":`+app+`,`) || !strings.Contains(history.body, `"until":null,"user":{"id":1,`) {
			r.t.Errorf("history: %s", history.body)
		}
		r.want("POST", sites+id+"/restore", `{"revision":1}`, 200, site("5", "0"))
		for _, revision := range []string{"99", "0", "-1"} {
			r.want("POST", sites+id+"/restore", `{"revision":`+revision+`}`, 404, notFound)
		}
		r.want("POST", sites+id+"/restore", `{}`, 400,
			faultBody("validation_error", "required", "Must be given: the number of a revision, as the history lists it.", `"revision"`))
		r.want("DELETE", sites+id, "", 204, "")
		r.want("GET", sites+id, "", 404, notFound)
	})
}

// The reason for disabling is in the activity and in no answer. A new site or placement cannot have one.
func TestReasonsOfSwitchingOff(t *testing.T) {
	each(t, func(r *rig) {
		app := r.built("null")
		id := r.site("shop")
		r.send(r.key, "POST", sites+id+"/apps", `{"app_id":`+app+`}`)
		refused := faultBody("validation_error", "invalid_input", "A reason is given with `enabled: false`, which it explains: leave it out of any other change.", `"reason"`)
		for path, field := range map[string]string{sites + id: "reason", sites + id + "/apps/" + app: "apps." + app + ".reason"} {
			r.want("PATCH", path, `{"reason":"leaks"}`, 400, refused)
			r.want("PATCH", path, `{"enabled":true,"reason":"leaks"}`, 400, refused)
			for range 2 {
				if got := r.send(r.key, "PATCH", path, `{"enabled":false,"reason":"leaks"}`, "Prefer", "handling=strict"); got.status != 200 || strings.Contains(got.body, "leaks") {
					r.t.Errorf("%s: %d %s", path, got.status, got.body)
				}
			}
			if body := r.send(r.key, "GET", "/activity", "").body; strings.Count(body, `"field":"`+field+`","before":null,"after":"leaks"`) != 1 {
				r.t.Errorf("%s: %s", field, body)
			}
		}
		for path, body := range map[string]string{sites: `{"name":"other","enabled":false,"reason":"leaks"}`, sites + id + "/apps": `{"app_id":1,"enabled":false,"reason":"leaks"}`} {
			if got := r.send(r.key, "POST", path, body, "Prefer", "handling=strict"); got.status != 400 || !slices.Equal(attrs(r.t, got), []string{"reason"}) {
				r.t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
	})
}

func TestOffAPI(t *testing.T) {
	each(t, func(r *rig) {
		id := r.built("null")
		r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"source":{"site.ts":"export const two = 2"}}`, 200)
		r.want("POST", apps+id+"/disable", `{}`, 400, faultBody("validation_error", "required", "Must be given: 1 to 500 characters that say why.", `"reason"`))
		if got := r.send(r.key, "POST", apps+id+"/disable", `{"reason":"leaks"}`); got.status != 200 || !strings.HasPrefix(got.body, `{"id":`+id) {
			r.t.Errorf("disable: %d %s", got.status, got.body)
		}
		source := r.wantParts(r.key, "GET", apps+id+"/source", "", 200, `"disabled":{"reason":"leaks","by":{"id":1,`).body
		current := strings.TrimSuffix(between(source, `"url":"`+baseURL, `"`), ".js")
		current = current[:strings.LastIndex(current, "/")] + "/site.js"
		if got := r.send("", "GET", current, ""); got.status != 200 || got.body != "export {};" || got.header.Get("X-Foyer-Disabled") != "1" {
			r.t.Errorf("site.js: %d %s %v", got.status, got.body, got.header)
		}
		if got := r.send("", "GET", r.gone(), ""); got.status != 410 || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Access-Control-Allow-Origin") != "*" {
			r.t.Errorf("by its sum: %d %s %v", got.status, got.body, got.header)
		}
		r.wantStatus(r.key, "POST", apps+id+"/enable", "", 200)
		r.wantParts(r.key, "POST", apps+id+"/versions/2/withdraw", `{"reason":"leaks","version":1}`, 200, `"current":false,"withdrawn":{"reason":"leaks","by":{"id":1,`)
		if got := r.send(r.key, "GET", apps+id+"/versions", ""); strings.Count(got.body, `"withdrawn":null`) != 1 || strings.Count(got.body, `"withdrawn":{`) != 1 {
			r.t.Errorf("versions: %s", got.body)
		}
		r.wantParts(r.key, "POST", apps+id+"/versions/2/restore", "", 200, `"withdrawn":null`)
		r.want("POST", apps+id+"/versions/1/withdraw", `{"reason":"x","version":-1}`, 400, faultBody("validation_error", "invalid_input", "Must be the number of a version.", `"version"`))
		for _, body := range []string{`{"version":0}`, `{"version":"1"}`} {
			if got := attrs(r.t, r.wantStatus(r.key, "POST", apps+id+"/versions/1/withdraw", body, 400)); !slices.Equal(got, []string{"reason", "version"}) {
				r.t.Errorf("withdraw %s: the faults are of %q", body, got)
			}
		}
	})
}

func TestManifestAPI(t *testing.T) {
	each(t, func(r *rig) {
		id, app := r.site("shop"), r.built("null")
		token := r.siteToken(id)
		at := sites + token + "/manifest.json"
		first := r.send("", "GET", at, "", "Accept-Encoding", "identity")
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin", "Timing-Allow-Origin": "*",
			"Cache-Control": "public, max-age=10, stale-if-error=86400", "Content-Type": "application/json", "X-Content-Type-Options": "nosniff",
			"Vary": "Accept-Encoding", "Set-Cookie": "",
		} {
			if got := first.header.Get(name); got != want {
				r.t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if want := `{"site":"` + token + `","revision":1,"sample":1,"apps":[]}`; first.body != want {
			r.t.Errorf("%s, want %s", first.body, want)
		}
		gzipped := r.send("", "HEAD", at, "", "Accept-Encoding", "gzip")
		tag := strings.TrimSuffix(first.header.Get("ETag"), `"`)
		if gzipped.header.Get("ETag") != tag+`-gzip"` || gzipped.header.Get("Content-Encoding") != "gzip" {
			r.t.Errorf("%v", gzipped.header)
		}
		if got := r.send("", "GET", at, "", "Accept-Encoding", "identity", "If-None-Match", tag+`"`); got.status != 304 || got.body != "" || got.header.Get("Access-Control-Allow-Origin") != "*" {
			r.t.Errorf("unchanged: %d %s", got.status, got.body)
		}
		r.placed(id, `{"app_id":`+app+`}`)
		if got := r.send("", "GET", at, "", "If-None-Match", tag+`"`); got.status != 200 || !strings.Contains(got.body, `"revision":2,`) {
			r.t.Errorf("changed: %d %s", got.status, got.body)
		}
		for range 700 { // from visitors who share an address: more than the limit without a key
			r.wantStatus("", "GET", sites+strings.Repeat("A", 26)+"/manifest.json", "", 404)
		}
		for _, none := range []string{sites + "x/manifest.json", sites + strings.Repeat("A", 26) + "/manifest.json", at + "/", at + "?preview=x", sites + token + "/try"} {
			if got := r.send("", "GET", none, ""); got.status != 404 || got.body != notFound || got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Cache-Control") != "no-store" {
				r.t.Errorf("%s: %d %s %v", none, got.status, got.body, got.header)
			}
		}
		page := r.send("", "GET", sites+token+"/try?t=x", "", "Accept", "text/html,*/*")
		if page.status != 404 || !strings.Contains(page.body, "<h1>Try page not found</h1>") || !strings.Contains(page.header.Get("Content-Security-Policy"), "default-src 'none'") || page.header.Get("RateLimit") != "" {
			r.t.Errorf("a try page that is over: %d %s %v", page.status, page.body, page.header)
		}
		loader := r.send("", "GET", sites+token+"/loader.js", "")
		if loader.status != 200 || loader.header.Get("Cache-Control") != "public, max-age=3600, stale-while-revalidate=2592000" || loader.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
			r.t.Errorf("loader: %d %v", loader.status, loader.header)
		}
		if got := r.send("", "POST", at, ""); got.status != 405 || got.header.Get("Allow") != "GET, HEAD" {
			r.t.Errorf("POST: %d %v", got.status, got.header)
		}
	})
}

func TestPreviewAPI(t *testing.T) {
	each(t, func(r *rig) {
		now := time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
		r.db.Now = func() time.Time { return now }
		id, app := r.site("shop"), r.built(siteOptions)
		token := r.siteToken(id)
		got := r.send(r.key, "POST", sites+id+"/apps/"+app+"/preview", `{"url":"`+baseURL+sites+token+`/try","config":{"color":"red"}}`)
		link := between(got.body, `"url":"`+baseURL, `"`)
		_, preview, found := strings.Cut(link, "&foyer_preview=")
		if got.status != 200 || got.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(link, sites+token+"/try?t=") || !found || !strings.Contains(got.body, `"expires_at":"2026-11-23T10:30:00.000000Z"`) {
			r.t.Fatalf("%d %s", got.status, got.body)
		}
		m := r.send("", "GET", sites+token+"/manifest.json?preview="+preview, "")
		if m.status != 200 || m.header.Get("Cache-Control") != "no-store" || !strings.Contains(m.body, `"config":{"color":"red","size":"M"}`) {
			r.t.Errorf("%d %s %v", m.status, m.body, m.header)
		}
		page := r.send("", "GET", strings.ReplaceAll(link, `\u0026`, "&"), "")
		if page.status != 200 || !strings.Contains(page.body, `<script async src="`+baseURL+sites+token+`/loader.js"></script>`) ||
			page.header.Get("Content-Security-Policy") != "sandbox allow-scripts allow-forms; form-action 'none'; frame-ancestors 'self'" ||
			page.header.Get("X-Content-Type-Options") != "nosniff" || page.header.Get("Referrer-Policy") != "no-referrer" ||
			page.header.Get("X-Robots-Tag") != "noindex" || page.header.Get("Cache-Control") != "no-store" {
			r.t.Errorf("%d %s %v", page.status, page.body, page.header)
		}
		r.wantStatus(r.key, "PATCH", sites+id, `{"name":"\u202eabc\u2066 אב"}`, 200)
		r.wantParts("", "GET", strings.ReplaceAll(link, `\u0026`, "&"), "", 200, "<title>abc אב: try page</title>", "of the site “<bdi>abc אב</bdi>”", "<h1><bdi>abc אב</bdi></h1>")
	})
}

func TestBeaconAPI(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now() // at which the limit does not recover
		r.db.Now = func() time.Time { return now }
		id, app := r.site("shop"), r.built("null")
		r.placed(id, `{"app_id":`+app+`}`)
		at := sites + r.siteToken(id) + "/beacon"
		view := `{"revision":2,"apps":[{"id":` + app + `,"version":1,"state":"running","ms":80}],"errors":[]}`
		for range beaconLimit + 5 {
			if got := r.send("", "POST", at, view, "Content-Type", "text/plain", "Origin", "https://any.example"); got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "*" {
				r.t.Fatalf("%d %s", got.status, got.body)
			}
		}
		for i := range 50 {
			for _, none := range []string{strings.Repeat("A", i), "A" + rand.Text()[1:]} {
				if got := r.send("", "POST", sites+none+"/beacon", view); got.status != 204 && none != "" {
					r.t.Errorf("for %s: %d %s", none, got.status, got.body)
				}
			}
		}
		if n := r.api.Reporters(); n != 1 {
			r.t.Errorf("%d reporters are remembered, of one", n)
		}
		for _, junk := range []string{"x", strings.Repeat(" ", 9000) + view} {
			r.wantStatus("", "POST", at, junk, 204)
		}
		if err := r.api.Sites.Manifests.Counts.Flush(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		h := r.send(r.key, "GET", apps+app+"/health?site="+id, "")
		loads := between(h.body, `"loads":`, ",")
		if h.status != 200 || loads != "600" {
			r.t.Errorf("%d %s", h.status, h.body)
		}
		one, _ := strings.CutPrefix(h.body, "{")
		all := r.send(r.key, "GET", sites+id+"/health", "")
		if want := `"results":[{"app_id":` + app + `,"name":"` + between(all.body, `"name":"`, `"`) + `",` + one + "]}"; !strings.HasSuffix(all.body, want) {
			r.t.Errorf("%d %s, want %s", all.status, all.body, want)
		}
		r.want("GET", sites+id+"/health?since=2001-01-01T00:00:00Z", "", 400,
			faultBody("validation_error", "invalid_input", "Must be at most 90 days ago: counts are not kept for longer.", `"since"`))
		r.want("GET", sites+"999/health", "", 404, notFound)
		r.want("GET", apps+app+"/health?since=yesterday", "", 400,
			faultBody("validation_error", "invalid_input", "Must be a time like 2026-11-23T09:30:00Z (RFC 3339); write %2B for a +.", `"since"`))
		r.want("GET", apps+app+"/health?site=999", "", 404, notFound)
		r.wantParts(r.key, "GET", sites+id+"/health?since=yesterday&limit=0", "", 400, `"attr":"since"`, `"attr":"limit"`)
	})
}

// beaconLimit is how many reports per minute count from one address on one site.
const beaconLimit = 600
