package api

import (
	"cmp"
	"net/http"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/purpose"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/wire"
)

// serveBundle answers browsers, of any origin and without a key, with the bundle
// of an app: site.js is the current one, SHA256.js the one with that sum.
func (a *API) serveBundle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	openToPages(h)
	script, pinned, err := a.findBundle(r.WithContext(purpose.With(r.Context(), "bundles")))
	if fault.Is(err, fault.NotFound) {
		err = cmp.Or(a.LimitPeer(w, r), err) // only what pages load is not limited
	}
	if err != nil {
		h.Set("Cache-Control", "no-store") // a cache may keep a 404 else (RFC 9111 section 4.2.2)
		a.fail(w, r, err)
		return
	}
	if script.Disabled {
		h.Set("X-Foyer-Disabled", "1")
	}
	age := "no-cache" // may be kept, but is checked each time
	switch {
	case pinned && r.URL.RawQuery == "":
		age = wire.Forever
	case pinned: // as the loader asks whether the version is withdrawn: a cache would tell for ever that it is not
		age = "public, max-age=10"
	}
	if err := (wire.Kept{Text: script.Text, Tag: script.SHA256, MediaType: wire.JavaScript, CacheControl: age}).Write(w, r); err != nil {
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

// isSum reports whether s is a SHA-256 sum in lower-case hexadecimal.
func isSum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
