// Package guide serves the guides in docs/ and the reference of the API in the look of the console, and searches both.
package guide

import (
	"embed"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"foyer/internal/base/compress"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

//go:generate go run ./generate ../../../../docs

//go:embed pages/*.html.gz
var pages embed.FS

//go:embed templates
var files embed.FS

var templates = markup.New(files, nil)

// exampleServer is the server in the texts of the guides. Pages show this server instead, so that samples can be copied.
const exampleServer = "http://127.0.0.1:8000"

// Guides serves the guides and the reference.
type Guides struct {
	markup.Host
	Document  compress.Text // of the API, as JSON
	Reference compress.Text // its text for pages; see openapi.Page
	// Organization returns the organization that a reader is signed in to; without an id, none.
	Organization func(http.ResponseWriter, *http.Request) access.Organization

	entries func() []entry                       // read on the first search
	parts   func() map[string]string             // of the reference, by their names
	anybody func() (map[string]wire.Kept, error) // the parts for readers who are not signed in
}

// Title is a guide in the list.
type Title struct{ Name, Title string }

// titles are the guides in order, grouped by purpose.
var titles = []Title{
	{"guide-app-authors", "For those who write apps"},
	{"guide-page-owners", "For those who own pages"},
	{"guide-operators", "For those who run foyer"},
	{"operating", "Operating foyer"},
	{"api", "The API"},
	{"cli", "The command line"},
	{"cookbook", "Cookbook"},
	{"performance", "Performance"},
	{"architecture", "Architecture"},
	{"glossary", "Glossary"},
}

// Page is a page of the documentation.
type Page struct {
	Prefix       string
	Organization string // the id that links to other pages carry; "": none
	Title        string
	Name         string // of the guide; "": a search
	Body         template.HTML
	Parts        []section // of the guide
	Query        string
	Found        []Found
}

// In is the query of links to other pages.
func (p Page) In() string {
	if p.Organization == "" {
		return ""
	}
	return "?" + in + "=" + url.QueryEscape(p.Organization)
}

// Guides returns all guides.
func (Page) Guides() []Title { return titles }

// Script is the path of the script of all pages.
func (p Page) Script() string { return p.Prefix + markup.Enhancements.Path }

// Found is a section of a guide, or an operation.
type Found struct{ Title, In, Text, Path string }

// Register adds the guides to a mux.
func (g *Guides) Register(to *wire.Mux) {
	g.entries = sync.OnceValue(func() []entry { return read(g.Document.Plain()) })
	g.parts = sync.OnceValue(func() map[string]string { return partsOf(string(g.Reference.Plain())) })
	g.anybody = sync.OnceValues(g.forAnybody)
	to.Handle("/{$}", wire.Get(http.HandlerFunc(g.reference)))
	to.Handle("/docs", wire.Get(http.HandlerFunc(g.reference)))
	to.Handle("/docs/search", wire.Get(http.HandlerFunc(g.search)))
	to.Handle("/docs/reference/{part}", wire.Get(http.HandlerFunc(g.reference)))
	to.Handle("/docs/{guide}", wire.Get(http.HandlerFunc(g.show)))
}

func (g *Guides) show(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(titles, func(t Title) bool { return t.Name == r.PathValue("guide") })
	if at < 0 {
		g.lost(w, r)
		return
	}
	body := text(titles[at].Name)
	if titles[at].Name != "operating" { // it is about servers that do not exist yet
		body = strings.ReplaceAll(body, exampleServer, html.EscapeString(g.BaseURL))
	}
	g.Write(w, r, templates, http.StatusOK, markup.Fill("guide.html", Page{
		Prefix: g.prefix(), Organization: r.URL.Query().Get(in), Title: titles[at].Title, Name: titles[at].Name, Body: template.HTML(body), // made of our own texts
		Parts: slices.DeleteFunc(sections(body), func(s section) bool { return s.Level != 2 }),
	}))
}

// text returns a guide as HTML.
func text(name string) string {
	packed, err := pages.ReadFile("pages/" + name + ".html.gz")
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	return string(compress.Embedded(packed).Plain())
}

func (g *Guides) prefix() string { return g.Base().EscapedPath() }

// lost answers that no page has this name.
func (g *Guides) lost(w http.ResponseWriter, r *http.Request) {
	g.Write(w, r, templates, http.StatusNotFound, markup.Fill("lost.html", Page{Prefix: g.prefix(), Organization: r.URL.Query().Get(in), Title: "Page not found"}))
}
