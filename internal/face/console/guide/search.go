package guide

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"foyer/internal/base/plaintext"
	"foyer/internal/base/search"
	"foyer/internal/face/console/markdown"
	"foyer/internal/face/console/markup"
)

// entry is something that a search can find.
type entry struct {
	Page            string // of the documentation, by its path
	ID, Title, Text string

	foldedTitle, folded string
}

// maxFound is the largest number of results.
const maxFound = 40

func (g *Guides) search(w http.ResponseWriter, r *http.Request) {
	query := plaintext.VisibleLine(strings.TrimSpace(r.URL.Query().Get("q")), 100)
	page := Page{Prefix: g.prefix(), Organization: r.URL.Query().Get(in), Title: "Search", Query: query}
	if words := strings.Fields(search.Fold(query)); len(words) > 0 {
		page.Found = g.find(words, page.In())
	}
	g.Write(w, r, templates, http.StatusOK, markup.Fill("search.html", page))
}

// find returns the entries that contain all the words, the best first. Their links carry a query.
func (g *Guides) find(words []string, in string) []Found {
	var ranked [ranks][]Found
	for _, e := range g.entries() {
		if r := e.rank(words); r < ranks {
			ranked[r] = append(ranked[r], g.found(e, words, in))
		}
	}
	all := slices.Concat(ranked[:]...)
	return all[:min(len(all), maxFound)]
}

// ranks is the number of ranks of a match; an entry of this rank is no match.
const ranks = 6

// rank returns how well an entry fits the words: the title is all of them, begins with them, has words that begin with
// them, or contains them; then the same two for the text.
func (e entry) rank(words []string) int {
	query := strings.Join(words, " ")
	begins := func(text string) bool {
		return all(words, func(word string) bool { return strings.Contains(" "+text, " "+word) })
	}
	has := func(text string) bool {
		return all(words, func(word string) bool { return strings.Contains(text, word) })
	}
	switch {
	case e.foldedTitle == query:
		return 0
	case strings.HasPrefix(e.foldedTitle, query):
		return 1
	case begins(e.foldedTitle):
		return 2
	case has(e.foldedTitle):
		return 3
	case begins(e.folded):
		return 4
	case has(e.folded):
		return 5
	}
	return ranks
}

func all(words []string, is func(string) bool) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !is(word) })
}

func (g *Guides) found(e entry, words []string, in string) Found {
	f := Found{Title: e.Title, In: "Reference", Path: g.prefix() + "/docs/" + e.Page + in + "#" + e.ID}
	if at := slices.IndexFunc(titles, func(t Title) bool { return t.Name == e.Page }); at >= 0 {
		f.In = titles[at].Title
	}
	f.Text = around(e.Text, words[0])
	return f
}

// around returns the part of a text around a word.
func around(text, word string) string {
	const before, shown = 60, 200
	letters := []rune(text)
	from := 0
	if at := strings.Index(strings.ToLower(text), word); at > 0 {
		from = max(0, len([]rune(text[:min(at, len(text))]))-before)
	}
	end := min(from+shown, len(letters))
	part := string(letters[min(from, end):end])
	if from > 0 {
		_, part, _ = strings.Cut(part, " ")
		part = "… " + part
	}
	if end < len(letters) {
		part = part[:max(strings.LastIndexByte(part, ' '), 0)] + " …"
	}
	return plaintext.VisibleLine(part, shown+2)
}

// read returns all entries: the sections of the guides, and the operations of the reference.
func read(reference []byte) []entry {
	var all []entry
	for _, title := range titles {
		for _, s := range sections(text(title.Name)) {
			all = append(all, entry{Page: title.Name, ID: s.ID, Title: s.Title, Text: s.Text})
		}
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(reference, &document); err != nil {
		panic(err) // it is part of the program
	}
	for route, methods := range document.Paths {
		for method, text := range methods {
			var operation struct {
				ID          string   `json:"operationId"`
				Summary     string   `json:"summary"`
				Description string   `json:"description"`
				Tags        []string `json:"tags"`
			}
			if json.Unmarshal(text, &operation) == nil && operation.ID != "" { // the parameters of a path are not operations
				all = append(all, entry{Page: "reference/" + strings.ToLower(operation.Tags[0]), ID: operation.ID, Title: operation.Summary, Text: strings.ToUpper(method) + " " + route + " " + plain(string(markdown.HTML(operation.Description)))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return strings.Compare(a.Page+" "+a.ID, b.Page+" "+b.ID) })
	for i, e := range all {
		all[i].foldedTitle, all[i].folded = search.Fold(e.Title), search.Fold(e.Title+" "+e.Text)
	}
	return all
}

// section is a part of a guide, below its heading.
type section struct {
	ID, Title, Text string
	Level           int
}

var (
	heading = regexp.MustCompile(`<h([1-3]) id="([^"]+)">(.*?)</h[1-3]>`)
	marks   = regexp.MustCompile(`<button.*?</button>|<[^>]*>`)
)

// sections returns the parts of a guide that goldmark made.
func sections(guide string) []section {
	var all []section
	headings := heading.FindAllStringSubmatchIndex(guide, -1)
	for i, at := range headings {
		end := len(guide)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		all = append(all, section{
			ID: guide[at[4]:at[5]], Title: plain(guide[at[6]:at[7]]), Text: plain(guide[at[1]:end]), Level: int(guide[at[2]] - '0'),
		})
	}
	return all
}

// plain returns the text of a piece of HTML.
func plain(piece string) string {
	return strings.Join(strings.Fields(html.UnescapeString(marks.ReplaceAllString(piece, ""))), " ")
}
