package api

import (
	"cmp"
	"net/http"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/purpose"
	"foyer/internal/domain/access"
	"foyer/internal/domain/bundles"
	"foyer/internal/face/wire"
)

// serveBundle sends the bundle of an app to browsers, for any origin and without a key. site.js is the current one,
// SHA256.js the one with that sum.
func (a *API) serveBundle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	openToPages(h)
	script, pinned, err := a.findBundle(r.WithContext(purpose.With(r.Context(), "bundles")))
	if fault.Is(err, fault.NotFound) {
		err = cmp.Or(a.LimitPeer(w, r), err) // requests for existing bundles are not limited
	}
	if err != nil {
		h.Set("Cache-Control", "no-store") // otherwise a cache may store a 404 (RFC 9111 section 4.2.2)
		a.fail(w, r, err)
		return
	}
	if script.Disabled {
		h.Set("X-Foyer-Disabled", "1")
	}
	age := "no-cache" // caches store it, but revalidate it each time
	switch {
	case pinned && r.URL.RawQuery == "":
		age = wire.Forever
	case pinned: // the loader asks this way whether the version is withdrawn: a cache must not answer for ever that it is not
		age = "public, max-age=10"
	}
	if err := (wire.Kept{Text: script.Text, Tag: script.SHA256, MediaType: wire.JavaScript, CacheControl: age}).Write(w, r); err != nil {
		a.fail(w, r, err)
	}
}

// findBundle returns the bundle that a path names, and whether the path pins its content.
func (a *API) findBundle(r *http.Request) (script *bundles.Script, pinned bool, err error) {
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

// isSum reports whether s is a SHA-256 sum in lower-case hexadecimal.
func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
