package api_test

import (
	"net/http"
	"testing"
)

// Whoever asks for bundles that do not exist is held to what an address may ask.
func TestUnknownBundlesAreLimited(t *testing.T) {
	each(t, func(r *rig) {
		status := func() int {
			req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+"/apps/unknown/site.js", nil)
			if err != nil {
				r.t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				r.t.Fatal(err)
			}
			defer res.Body.Close()
			return res.StatusCode
		}
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
