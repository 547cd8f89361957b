// Package guide serves the guides in docs/ beside the reference of the API, in one look with the
// console, and searches both.
package guide

import (
	"bytes"
	"embed"
	"encoding/json"
	"html"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

//go:generate go run ./generate ../../../../docs

//go:embed pages
var pages embed.FS

//go:embed templates
var files embed.FS

var templates = markup.New(files, nil)

// exampleServer is where the guides have their server: what is copied names this one.
const exampleServer = "http://127.0.0.1:8000"

// Guides serves the guides.
type Guides struct {
	markup.Host
	Reference []byte // the document of the API, as JSON

	entries func() []entry // read when somebody first searches
}

// Title is a guide that is listed.
type Title struct{ Name, Title string }

// titles are the guides in their order, by what they are for.
var titles = []Title{
	{"guide-app-authors", "For those who write apps"},
	{"guide-page-owners", "For those who own pages"},
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
	Prefix string
	Title  string
	Name   string // of the guide; "": a search
	Body   template.HTML
	Query  string
	Found  []Found
}

// Guides are all there are.
func (Page) Guides() []Title { return titles }

// Script is the path of the script of all pages.
func (p Page) Script() string { return p.Prefix + markup.Enhancements.Path }

// Found is a section of a guide, or an operation.
type Found struct{ Title, In, Text, Path string }

// Register adds the guides to a mux.
func (g *Guides) Register(to *wire.Mux) {
	g.entries = sync.OnceValue(func() []entry { return read(g.Reference) })
	to.Handle("/docs/search", wire.Get(http.HandlerFunc(g.search)))
	to.Handle("/docs/{guide}", wire.Get(http.HandlerFunc(g.show)))
}

func (g *Guides) show(w http.ResponseWriter, r *http.Request) {
	at := slices.IndexFunc(titles, func(t Title) bool { return t.Name == r.PathValue("guide") })
	if at < 0 {
		g.fail(w, fault.New(fault.NotFound, "There is no guide of this name."))
		return
	}
	body, err := pages.ReadFile("pages/" + titles[at].Name + ".html")
	if err != nil {
		panic(err) // embedded: cannot be missing
	}
	if titles[at].Name != "operating" { // which is about servers to be
		body = bytes.ReplaceAll(body, []byte(exampleServer), []byte(html.EscapeString(g.BaseURL)))
	}
	g.Write(w, r, templates, http.StatusOK, markup.Fill("guide.html", Page{
		Prefix: g.prefix(), Title: titles[at].Title, Name: titles[at].Name, Body: template.HTML(body), //nolint:gosec // made of our own texts
	}))
}

func (g *Guides) prefix() string { return g.Base().EscapedPath() }

func (g *Guides) fail(w http.ResponseWriter, err error) {
	http.Error(w, fault.Of(err)[0].Detail, wire.SetHeaders(w, err))
}

// entry is what can be found.
type entry struct {
	Page  string `json:"page"` // "": the reference
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`

	foldedTitle, folded string
}

// maxFound is how much is found at most.
const maxFound = 40

func (g *Guides) search(w http.ResponseWriter, r *http.Request) {
	query := plaintext.VisibleLine(strings.TrimSpace(r.URL.Query().Get("q")), 100)
	page := Page{Prefix: g.prefix(), Title: "Search", Query: query}
	if words := strings.Fields(plaintext.Fold(query)); len(words) > 0 {
		page.Found = g.find(words)
	}
	g.Write(w, r, templates, http.StatusOK, markup.Fill("search.html", page))
}

// find returns what has all the words: first where the title has them.
func (g *Guides) find(words []string) []Found {
	var named, told []Found
	for _, e := range g.entries() {
		has := func(text string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		}
		switch {
		case has(e.foldedTitle):
			named = append(named, g.found(e, words))
		case has(e.folded):
			told = append(told, g.found(e, words))
		}
	}
	all := slices.Concat(named, told)
	return all[:min(len(all), maxFound)]
}

func (g *Guides) found(e entry, words []string) Found {
	f := Found{Title: e.Title, In: "Reference", Path: g.prefix() + "/docs#" + e.ID}
	if at := slices.IndexFunc(titles, func(t Title) bool { return t.Name == e.Page }); at >= 0 {
		f.In, f.Path = titles[at].Title, g.prefix()+"/docs/"+e.Page+"#"+e.ID
	}
	f.Text = around(e.Text, words[0])
	return f
}

// around is a part of a text with a word in it.
func around(text, word string) string {
	const before, shown = 60, 200
	letters := []rune(text)
	from := 0
	if at := strings.Index(strings.ToLower(text), word); at > 0 {
		from = max(0, len([]rune(text[:min(at, len(text))]))-before)
	}
	part := string(letters[min(from, len(letters)):min(from+shown, len(letters))])
	if from > 0 {
		part = "…" + part
	}
	return plaintext.VisibleLine(part, shown+1)
}

// read are all that can be found: the sections of the guides, and the operations of the reference.
func read(reference []byte) []entry {
	var all []entry
	index, err := pages.ReadFile("pages/search.json")
	if err == nil {
		err = json.Unmarshal(index, &all)
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err == nil {
		err = json.Unmarshal(reference, &document)
	}
	if err != nil {
		panic(err) // both are part of the program
	}
	for route, methods := range document.Paths {
		for method, text := range methods {
			var operation struct {
				ID          string `json:"operationId"`
				Summary     string `json:"summary"`
				Description string `json:"description"`
			}
			if json.Unmarshal(text, &operation) == nil && operation.ID != "" { // parameters of a path are none
				all = append(all, entry{ID: operation.ID, Title: operation.Summary, Text: strings.ToUpper(method) + " " + route + " " + operation.Description})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.Page+" "+a.ID, b.Page+" "+b.ID) })
	for i, e := range all {
		all[i].foldedTitle, all[i].folded = plaintext.Fold(e.Title), plaintext.Fold(e.Title+" "+e.Text)
	}
	return all
}
