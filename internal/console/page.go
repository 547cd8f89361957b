// Package console is the HTML face of foyer: pages for people, which work
// without script.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"foyer/internal/plaintext"
)

// Page is what one page shows: a struct of this package, shown by the template
// of its name. Texts go in as they were typed; the templates pass each through
// line, text or address, but for the names in the form, which come back from it.
type Page interface {
	template() string
}

// maxLine is how much of a name is shown, in characters.
const maxLine = 100

//go:embed templates
var files embed.FS

var (
	style     = mustRead("templates/style.css")
	templates = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("").
			Funcs(template.FuncMap{
				"style":   func() template.CSS { return template.CSS(style) },
				"line":    func(s string) string { return plaintext.Line(s, maxLine) },
				"text":    plaintext.Multiline,
				"address": plaintext.Address,
				"moment":  moment,
				"label":   func(field string) string { return labels[field] },
			}).
			ParseFS(files, "templates/*.html"))
	})
)

func mustRead(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	return string(b)
}

// labels are what the fields of the form are called.
var labels = map[string]string{"first_name": "First name", "last_name": "Last name"}

// moment is a time as people read it, to the minute.
func moment(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006, 15:04 UTC") }

// Render writes p as a whole HTML document.
func Render(p Page) ([]byte, error) {
	var body bytes.Buffer
	if err := templates().ExecuteTemplate(&body, p.template(), p); err != nil {
		return nil, fmt.Errorf("page %s: %w", p.template(), err)
	}
	return body.Bytes(), nil
}

// policy allows the page its own style, its own icon and forms to foyer itself.
// The style is named by its hash, so that no injected one works.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// headers keeps a page that holds a secret link or key out of frames and search
// engines, beside what wire.Secret does.
func headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// write answers with p. A page that cannot be rendered is not half sent: then
// nothing is written and the error is returned.
func write(w http.ResponseWriter, status int, p Page) error {
	body, err := Render(p)
	if err != nil {
		return err
	}
	headers(w)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the browser may be gone; nobody is left to tell
	return nil
}
