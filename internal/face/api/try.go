package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
)

//go:embed try.html
var tryText string

var tryPage = template.Must(template.New("try").Parse(tryText))

//go:embed no_try.html
var noTryPage []byte // for browsers with an expired or invalid link

// maxShownName is how many characters of a site's name are shown.
const maxShownName = 100

// serveTry answers with a plain page that contains the site's element. Its apps run in a browser sandbox and never have
// the origin of the console.
func (a *API) serveTry(w http.ResponseWriter, r *http.Request) error {
	s, err := a.Sites.Try(r.Context(), r.PathValue("token"), r.URL.Query().Get("t"))
	if fault.Is(err, fault.NotFound) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeTry(w, http.StatusNotFound, "sandbox; default-src 'none'; style-src 'unsafe-inline'", noTryPage)
		return nil
	}
	if err != nil {
		return err
	}
	var page bytes.Buffer
	err = tryPage.Execute(&page, struct {
		Name    string
		Element template.HTML
	}{plaintext.VisibleLine(s.Name, maxShownName), template.HTML(a.Sites.Snippet(s))}) // of the base url and a token
	if err != nil {
		return err
	}
	writeTry(w, http.StatusOK, "sandbox allow-scripts allow-forms; form-action 'none'", page.Bytes())
	return nil
}

// writeTry answers with a page that only the console may frame.
func writeTry(w http.ResponseWriter, status int, policy string, page []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	h.Set("Content-Security-Policy", policy+"; frame-ancestors 'self'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(status)
	_, _ = w.Write(page) // fails if the client disconnected
}
