package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
)

//go:embed try.html
var tryText string

var tryPage = template.Must(template.New("try").Parse(tryText))

//go:embed no_try.html
var noTryPage []byte

// noTry tells a browser that the link of a try page is over, or was never one.
func noTry(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(noTryPage)))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(noTryPage) // fails if the client has gone
}

// serveTry answers with a plain page that has the site's element. Its apps are in a sandbox: they
// never have the origin of the console.
func (a *API) serveTry(w http.ResponseWriter, r *http.Request) error {
	s, err := a.Sites.Try(r.Context(), r.PathValue("token"), r.URL.Query().Get("t"))
	if fault.Is(err, fault.NotFound) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		if err := a.LimitPeer(w, r); err != nil {
			return err
		}
		noTry(w)
		return nil
	}
	if err != nil {
		return err
	}
	var page bytes.Buffer
	err = tryPage.Execute(&page, struct {
		Name    string
		Element template.HTML
	}{s.Name, template.HTML(a.Sites.Snippet(s))}) //nolint:gosec // of the base url and a token
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	h.Set("Content-Security-Policy", "sandbox allow-scripts allow-forms; form-action 'none'; frame-ancestors 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	_, _ = w.Write(page.Bytes()) // fails if the client has gone
	return nil
}
