// Package markup writes the pages that people see: whole HTML documents in one style, which need no script, and allow
// only foyer's own.
package markup

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"foyer/internal/face/wire"
)

// Page is a template, and its data.
type Page struct {
	template string
	with     any
}

// Fill returns the page of a template with this name and this data.
func Fill(template string, with any) Page { return Page{template, with} }

// Templates are the templates of pages.
type Templates struct{ parse func() parsed }

// parsed holds the parsed files of Templates.
type parsed struct {
	templates *template.Template
	policy    string
}

//go:generate ../../../../scripts/icons templates/icons.html

//go:embed templates
var files embed.FS

// New returns the templates in a folder "templates", which can call funcs; a style.css there is added to the style of all
// pages. Texts are stored as they were typed: the templates pass each through one of funcs. The templates are parsed when
// the first page is shown.
func New(own fs.FS, funcs template.FuncMap) Templates {
	return Templates{sync.OnceValue(func() parsed {
		style := dense.Replace(strings.Join(strings.Fields(styleIn(files)+styleIn(own)), " "))
		all := template.New("").Funcs(template.FuncMap{
			"style": func() template.CSS { return template.CSS(style) }, "time": Time,
		}).Funcs(funcs)
		return parsed{template.Must(template.Must(all.ParseFS(files, "templates/*.html")).ParseFS(own, "templates/*.html")), policy(style)}
	})}
}

// styleIn returns what a folder adds to the style of pages.
func styleIn(folder fs.FS) string {
	style, err := fs.ReadFile(folder, "templates/style.css")
	if err != nil {
		return "" // it has none
	}
	return string(style)
}

// dense removes meaningless spaces from a style, but not those within quotes: each page contains the style.
var dense = strings.NewReplacer(`": "`, `": "`, ": ", ":", " { ", "{", "; } ", "}", "} ", "}", "; ", ";", ", ", ",")

// Render writes p as a whole HTML document.
func (t Templates) Render(p Page) ([]byte, error) {
	var body bytes.Buffer
	if err := t.parse().templates.ExecuteTemplate(&body, p.template, p.with); err != nil {
		return nil, fmt.Errorf("page %s: %w", p.template, err)
	}
	return body.Bytes(), nil
}

// policy allows a page its own style, its own icon, and foyer's forms, scripts, requests and frames. It names the style
// by its hash, so that an injected one does not apply.
func policy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"script-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// SetHeaders keeps a page that holds a secret link or key out of frames and search
// engines, in addition to wire.Secret.
func (t Templates) SetHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", t.parse().policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// Write answers with p. If it cannot be rendered, nothing is written and the error
// is returned.
func (t Templates) Write(w http.ResponseWriter, status int, p Page) error {
	body, err := t.Render(p)
	if err != nil {
		return err
	}
	return t.WriteRendered(w, status, body)
}

// WriteRendered is Write for a page that Render has written.
func (t Templates) WriteRendered(w http.ResponseWriter, status int, body []byte) error {
	if err := wire.Hold(w, len(body)); err != nil {
		return err
	}
	t.SetHeaders(w.Header())
	body = wire.Encode(w, body)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the browser may have disconnected; nobody is left to tell
	return nil
}

// TimeLayout is the format of times.
const TimeLayout = "2 January 2006, 15:04 UTC"

// Time shows a time. The script shows it in the reader's time zone, and near times as relative ones.
func Time(t time.Time) template.HTML {
	t = t.UTC()
	text := t.Format(TimeLayout)
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `" title="` + text + `">` + text + `</time>`) // nobody typed it
}
