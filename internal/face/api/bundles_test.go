package api_test

import (
	"net/http"
	"path"
	"strings"
	"testing"
)

// bundle makes an app and returns the path of its bundle.
func (r *rig) bundle() string {
	r.t.Helper()
	id := r.app(`{"name":"x","plugin_type":"source"}`)
	saved := r.send(r.key, "PATCH", apps+id+"/update_source", `{"site.ts":"export const a = 1"}`)
	return between(saved.body, `"bundle":{"url":"`+baseURL, `"`)
}

// Browsers get bundles as documented. The path of a bundle is a file, not a folder.
func TestBundles(t *testing.T) {
	each(t, func(r *rig) {
		exact := r.bundle()
		current := exact[:strings.LastIndex(exact, "/")] + "/site.js"
		for _, path := range []string{exact, current} {
			got := r.send("", "GET", path, "")
			if again := r.send("", "GET", path, "", "If-None-Match", got.header.Get("ETag")); got.status != 200 || again.status != 304 {
				r.t.Errorf("%s: %d, again %d", path, got.status, again.status)
			}
			r.wantStatus("", "GET", path+"/", "", 404)
		}
	})
}

// The links of an app lead to its own bundles, and the link without a sum to the current version's.
func TestBundlesOfTwoApps(t *testing.T) {
	each(t, func(r *rig) {
		a, b := r.app(`{"name":"a"}`), r.app(`{"name":"b"}`)
		save := func(id, text string) string {
			saved := r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"site.ts":"export const a = `+text+`"}`, 200)
			return between(saved.body, `"bundle":{"url":"`+baseURL, `"`)
		}
		first, other, second := save(a, "1"), save(b, "2"), save(a, "3")
		unknown := "/apps/" + strings.Repeat("A", 26)
		for _, wrong := range []string{
			path.Dir(first) + "/" + path.Base(other), unknown + "/" + path.Base(other), unknown + "/site.js",
		} {
			got := r.send("", "GET", wrong, "")
			r.compare(wrong, got, 404, notFound)
			if kept := got.header.Get("Cache-Control"); kept != "no-store" {
				r.t.Errorf("%s: Cache-Control %q: it may be there later", wrong, kept)
			}
		}
		serve := func(current ...string) {
			r.t.Helper()
			for _, exact := range current {
				r.compare("current", r.send("", "GET", path.Dir(exact)+"/site.js", ""), 200, r.wantStatus("", "GET", exact, "", 200).body)
			}
		}
		serve(second, other)
		r.wantStatus(r.key, "POST", apps+a+"/upgrade", `{"version":1}`, 200)
		serve(first, other)
		r.wantStatus(r.key, "POST", apps+a+"/disable", `{"reason":"broken"}`, 200)
		r.wantStatus("", "GET", first, "", 410)
		serve(other)
	})
}

// A bundle is sent whole or not at all, and every error is JSON.
func TestBundleConditions(t *testing.T) {
	each(t, func(r *rig) {
		path := r.bundle()
		whole := r.send("", "GET", path, "", "Accept-Encoding", "identity")
		etag := whole.header.Get("ETag")
		packed := strings.TrimSuffix(etag, `"`) + `-gzip"`
		failed := invalidRequest("precondition_failed", "If-Match does not match the current ETag.")
		for _, c := range []struct {
			name, value string
			status      int
			body        string
		}{
			{"Range", "bytes=0-3", 200, whole.body},
			{"Range", "bytes=99999-", 200, whole.body},
			{"If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT", 200, whole.body}, // a bundle has no modification time to compare with
			{"If-Match", "*", 200, whole.body},
			{"If-Match", `"x,y" ,	` + etag, 200, whole.body},
			{"If-Match", `"x"`, 412, failed},
			{"If-Match", "W/" + etag, 412, failed},
			{"If-None-Match", "*", 304, ""},
			{"If-None-Match", `"x", W/` + etag, 304, ""},
			{"If-None-Match", packed, 200, whole.body},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				want := c.body
				if method == "HEAD" {
					want = ""
				}
				got := r.send("", method, path, "", "Accept-Encoding", "identity", c.name, c.value)
				r.compare(method+" "+c.name+": "+c.value, got, c.status, want)
				if got.header.Get("Accept-Ranges") != "" || (got.header.Get("Cache-Control") == "") != (c.status == 412) {
					r.t.Errorf("%s %s: %s: %v", method, c.name, c.value, got.header)
				}
			}
		}
		got := r.send("", "GET", path, "", "Accept-Encoding", "gzip", "If-None-Match", packed)
		r.compare("gzip", got, 304, "")
		if got.header.Get("Content-Encoding") != "" || got.header.Get("Vary") != "Accept-Encoding" {
			r.t.Errorf("gzip: %v", got.header)
		}
	})
}

// A bundle is compressed for clients that accept gzip.
func TestBundleCoding(t *testing.T) {
	each(t, func(r *rig) {
		path := r.bundle()
		for accepted, want := range map[string]string{
			"":                     "",
			"identity":             "",
			"br, GZIP":             "gzip",
			"gzip;q=0.001":         "gzip",
			"gzip ; Q = 1.0":       "gzip",
			"gzip;q=0":             "",
			"gzip;Q=0.000":         "",
			"gzip;\tq=0, identity": "",
		} {
			if got := r.send("", "GET", path, "", "Accept-Encoding", accepted).header.Get("Content-Encoding"); got != want {
				r.t.Errorf("%q gets %q", accepted, got)
			}
		}
	})
}

// Requests for bundles that do not exist count against the address.
func TestUnknownBundlesAreLimited(t *testing.T) {
	each(t, func(r *rig) {
		for _, token := range []string{"%ff", "%00", "%ED%A0%80", "unknown", "UNKNOWN"} {
			for _, file := range []string{"site", strings.Repeat("0", 64)} {
				r.wantStatus("", "GET", "/apps/"+token+"/"+file+".js", "", 404)
			}
		}
		for _, path := range []string{"/apps/%ff/site.js", "/apps/A/nothing"} {
			status := 0
			for range 2000 { // the limit recovers by 10 a second
				if status = r.send("", "GET", path, "").status; status == http.StatusTooManyRequests {
					break
				}
			}
			if status != http.StatusTooManyRequests {
				r.t.Errorf("%s: never refused", path)
			}
		}
	})
}
