package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// browse asks for a path without a key, and holds the answer against the OpenAPI
// document.
func (r *rig) browse(path string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.checker.Check(r.t, http.MethodGet, path, res.StatusCode, res.Header, text)
	return answer{res.StatusCode, string(text), res.Header}
}

// What browsers get is as documented; a bundle is a file, and no folder.
func TestBundles(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x","plugin_type":"source"}`)
		saved := r.send(r.key, "PATCH", apps+id+"/update_source", `{"site.ts":"export const a = 1"}`)
		exact := between(saved.body, `"bundle":{"url":"`+baseURL, `"`)
		current := exact[:strings.LastIndex(exact, "/")] + "/site.js"
		for _, path := range []string{exact, current} {
			got := r.browse(path)
			if again := r.browse(path, "If-None-Match", got.header.Get("ETag")); got.status != 200 || again.status != 304 {
				r.t.Errorf("%s: %d, again %d", path, got.status, again.status)
			}
			if got := r.browse(path + "/"); got.status != 404 {
				r.t.Errorf("%s/: %d", path, got.status)
			}
		}
	})
}

// Whoever asks for bundles that do not exist is held to what an address may ask.
func TestUnknownBundlesAreLimited(t *testing.T) {
	each(t, func(r *rig) {
		status := func() int { return r.browse("/apps/unknown/site.js").status }
		if got := status(); got != http.StatusNotFound {
			r.t.Errorf("the first: %d", got)
		}
		for range 2000 { // places come back at 10 a second
			if status() == http.StatusTooManyRequests {
				return
			}
		}
		r.t.Error("never refused")
	})
}
