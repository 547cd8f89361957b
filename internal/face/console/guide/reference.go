package guide

import (
	"cmp"
	"encoding/hex"
	"html"
	"html/template"
	"net/http"
	"strings"

	"foyer/internal/base/compress"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// reference shows a part of the reference, with samples for this server and the organization of the reader.
func (g *Guides) reference(w http.ResponseWriter, r *http.Request) {
	part := r.PathValue("part")
	if _, ok := g.parts()[part]; !ok {
		g.lost(w, r)
		return
	}
	all, err := g.anybody()
	page := all[part]
	if organization := g.Organization(w, r); err == nil && organization.ID != "" {
		if page, err = g.fill(part, organization, r.URL.Query().Get(in)); err == nil {
			page.CacheControl = "no-store" // it names the organization, which must not reappear after a sign-out
			err = wire.Hold(w, len(page.Plain()))
		}
	}
	if err != nil {
		g.OrPlain(w, r, err)
		return
	}
	templates.SetHeaders(w.Header())
	w.Header().Set("Vary", "Cookie")
	page.ServeHTTP(w, r)
}

// partsOf returns the pages of a reference by their names; see openapi.Page.
func partsOf(reference string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(reference, "\n{part ") {
		name, body, _ := strings.Cut(strings.TrimPrefix(part, "{part "), "}\n")
		all[name] = body
	}
	return all
}

// forAnybody returns the parts for readers who are not signed in.
func (g *Guides) forAnybody() (map[string]wire.Kept, error) {
	all := map[string]wire.Kept{}
	for part := range g.parts() {
		var err error
		if all[part], err = g.fill(part, access.Organization{}, ""); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// maxName is the longest part of the name of an organization that is shown, in characters.
const maxName = 100

// in is the query parameter that names the organization of a page.
const in = "in"

// fill renders a part of the reference for an organization. Its links carry the organization that its own query named.
func (g *Guides) fill(part string, of access.Organization, named string) (wire.Kept, error) {
	filled := Page{Prefix: g.prefix(), Organization: named, Title: "Reference"}
	flag, name := "", "<code>@current</code>, the organization of the key"
	if of.ID != "" {
		flag = " \\\n  --organization " + of.ID
		name = "<strong><bdi>" + html.EscapeString(plaintext.VisibleLine(of.Name, maxName)) + "</bdi></strong>, the organization that you are signed in to"
	}
	body := strings.NewReplacer(
		"{root}", g.prefix(), "{in}", filled.In(), "{base_url}", html.EscapeString(literal.Replace(g.BaseURL)), "{organization}", cmp.Or(of.ID, access.Current),
		"{organization_flag}", flag, "{organization_name}", name,
	).Replace(g.parts()[part])
	filled.Body = template.HTML(body) // our own text; what is filled in is escaped
	page, err := templates.Render(markup.Fill("reference.html", filled))
	etag := wire.ETagOf(page)
	return wire.Kept{
		Text: compress.New(func() []byte { return page }), Tag: hex.EncodeToString(etag[:]), MediaType: "text/html; charset=utf-8", CacheControl: "private, no-cache",
	}, err
}

// literal escapes the characters that a url may contain but a shell would interpret.
var literal = strings.NewReplacer("$", "%24", "!", "%21", "'", "%27", "&", "%26")
