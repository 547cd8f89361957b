package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// What browsers get is as documented; a bundle is a file, and no folder.
func TestBundles(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x","plugin_type":"source"}`)
		saved := r.send(r.key, "PATCH", apps+id+"/update_source", `{"site.ts":"export const a = 1"}`)
		exact := between(saved.body, `"bundle":{"url":"`+baseURL, `"`)
		current := exact[:strings.LastIndex(exact, "/")] + "/site.js"
		for _, path := range []string{exact, current} {
			got := r.send("", "GET", path, "")
			if again := r.send("", "GET", path, "", "If-None-Match", got.header.Get("ETag")); got.status != 200 || again.status != 304 {
				r.t.Errorf("%s: %d, again %d", path, got.status, again.status)
			}
			if got := r.send("", "GET", path+"/", ""); got.status != 404 {
				r.t.Errorf("%s/: %d", path, got.status)
			}
		}
	})
}

// Whoever asks for bundles that do not exist is held to what an address may ask.
func TestUnknownBundlesAreLimited(t *testing.T) {
	each(t, func(r *rig) {
		status := func() int { return r.send("", "GET", "/apps/%ff/site.js", "").status }
		for _, token := range []string{"%ff", "%00", "%ED%A0%80", "unknown", "UNKNOWN"} {
			for _, file := range []string{"site", strings.Repeat("0", 64)} {
				if got := r.send("", "GET", "/apps/"+token+"/"+file+".js", ""); got.status != http.StatusNotFound {
					r.t.Errorf("%s/%s.js: %d %s", token, file, got.status, got.body)
				}
			}
		}
		for range 2000 { // places come back at 10 a second
			if status() == http.StatusTooManyRequests {
				return
			}
		}
		r.t.Error("never refused")
	})
}
