package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"foyer/internal/access"
	"foyer/internal/fault"
	"foyer/internal/plugin"
)

// serveBundle answers browsers, of any origin and without a key, with the bundle
// of an app: site.js is the current one, SHA256.js the one with that sum.
func (a *API) serveBundle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	script, pinned, err := a.findBundle(r)
	if fault.Is(err, fault.NotFound) {
		err = cmp.Or(a.LimitPeer(w, r), err) // only what pages load is not limited
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	h.Set("Vary", "Accept-Encoding")
	c := content{body: script.JS, tag: script.SHA256, mediaType: "text/javascript; charset=utf-8"}
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		c.body, c.tag, c.coding = script.Gzip, script.SHA256+"-gzip", "gzip"
	}
	c.cacheControl = "no-cache" // may be kept, but is checked each time
	if pinned {
		c.cacheControl = "public, max-age=31536000, immutable"
	}
	if err := c.write(w, r); err != nil {
		a.fail(w, r, err)
	}
}

// findBundle returns the bundle that a path names; pinned if it never changes.
func (a *API) findBundle(r *http.Request) (script *plugin.Script, pinned bool, err error) {
	sum, ok := strings.CutSuffix(r.PathValue("file"), ".js")
	if pinned = sum != "site"; !pinned {
		sum = ""
	}
	folder := strings.HasSuffix(r.URL.Path, "/")
	if !ok || folder || pinned && !isSum(sum) {
		return nil, false, access.ErrNotFound
	}
	script, err = a.Plugins.Bundles.Serve(r.Context(), r.PathValue("public_token"), sum)
	return script, pinned, err
}

// acceptsGzip reports whether a client names gzip and does not refuse it (RFC 9110
// section 12.5.3).
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, weight, _ = strings.Cut(weight, "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// isSum reports whether s is a SHA-256 sum in lower-case hexadecimal.
func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
