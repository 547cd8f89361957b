package api

import (
	"io"
	"net/http"
	"strings"

	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// pages registers the resources that the pages of sites load. They need no key and allow any origin, so that any cache
// may be put in front.
func (a *API) pages(to *wire.Mux) {
	const root = "/sites/{token}/"
	to.Handle(root+"loader.js", wire.Get(a.forPages(a.serveLoader)))
	to.Handle(root+"manifest.json", wire.Get(a.forPages(a.serveManifest)))
	to.Handle(root+"try", wire.Get(a.forPages(a.serveTry)))
	to.Handle(root+"beacon", wire.Methods{http.MethodPost: http.HandlerFunc(a.takeBeacon)})
}

// openToPages lets pages of any origin read an answer.
func openToPages(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Timing-Allow-Origin", "*")
}

// forPages answers requests of pages. None of them is limited, not even with a 404: it makes pages stop the apps of a
// deleted site, and visitors may share an address.
func (a *API) forPages(do func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		openToPages(w.Header())
		err := access.ErrNotFound
		if !strings.HasSuffix(r.URL.Path, "/") {
			err = do(w, r)
		}
		if err != nil {
			w.Header().Set("Cache-Control", "no-store")
			a.fail(w, r, err)
		}
	})
}

func (a *API) serveLoader(w http.ResponseWriter, r *http.Request) error {
	script, err := a.Sites.Loader(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	return wire.Kept{Text: script.Text, Tag: script.Tag, MediaType: wire.JavaScript, CacheControl: "public, max-age=3600, stale-while-revalidate=2592000"}.Write(w, r)
}

func (a *API) serveManifest(w http.ResponseWriter, r *http.Request) error {
	token := r.PathValue("token")
	if preview := r.URL.Query().Get("preview"); preview != "" {
		m, err := a.Sites.PreviewManifest(r.Context(), token, preview, r.Header.Get("Origin"))
		if err != nil {
			return err
		}
		return wire.Kept{Text: m.Text, Tag: m.Tag, MediaType: "application/json", CacheControl: "no-store"}.Write(w, r)
	}
	m, err := a.Sites.Manifest(r.Context(), token)
	if err != nil {
		return err
	}
	return wire.Kept{Text: m.Text, Tag: m.Tag, MediaType: "application/json", CacheControl: "public, max-age=10, stale-if-error=86400"}.Write(w, r)
}

// maxBeacon is the maximum size of a page's report in bytes. beaconLimit is how many reports per minute count from one
// address on one site.
const (
	maxBeacon   = 8 << 10
	beaconLimit = 600
)

// reporter is a client network that reports on a site, as the limit counts it.
type reporter struct {
	address string
	siteID  int64
}

// takeBeacon always answers 204: nobody reads the answer. Only reports for existing sites take memory.
func (a *API) takeBeacon(w http.ResponseWriter, r *http.Request) {
	openToPages(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	token := r.PathValue("token")
	id, err := a.Sites.IDOf(r.Context(), token)
	if err == nil && a.byPage.allow(reporter{a.ClientNetwork(r), id}, a.Keys.Now()) {
		body, err := io.ReadAll(wire.Body(w, r, maxBeacon))
		if err == nil {
			a.Sites.Beacon(r.Context(), token, r.Header.Get("Origin"), body)
		}
	}
	_ = wire.WriteNothing(w) // never fails
}
