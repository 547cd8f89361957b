package guide

import (
	"bytes"
	"cmp"
	"html"
	"html/template"
	"net/http"
	"strings"
	"time"

	"foyer/internal/base/compress"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// reference shows all operations, with samples for this server and the organization of the reader.
func (g *Guides) reference(w http.ResponseWriter, r *http.Request) {
	page, err := g.anybody()
	if organization := g.Organization(w, r); organization.ID != "" {
		if page, err = g.fill(organization); err == nil {
			err = wire.Hold(w, len(page.Plain()))
		}
	}
	if err != nil {
		g.Report(w, r, err)
		g.fail(w, err)
		return
	}
	h := w.Header()
	templates.SetHeaders(h)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding, Cookie")
	body := page.Plain
	if wire.AcceptsGzip(r) {
		body = page.Compressed
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", wire.TagOf(body()).String())
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body()))
}

// fill is the page of the reference for an organization.
func (g *Guides) fill(in access.Organization) (compress.Text, error) {
	flag, name := "", "<code>@current</code>, the organization of the key"
	if in.ID != "" {
		flag = " \\\n  --organization " + in.ID
		name = "<strong>" + html.EscapeString(in.Name) + "</strong>, the organization that you are signed in to"
	}
	body := strings.NewReplacer(
		"{base_url}", html.EscapeString(literal.Replace(g.BaseURL)), "{organization}", cmp.Or(in.ID, access.Current),
		"{organization_flag}", flag, "{organization_name}", name,
	).Replace(string(g.Reference.Plain()))
	page, err := templates.Render(markup.Fill("reference.html", Page{
		Prefix: g.prefix(), Title: "Reference", Body: template.HTML(body), //nolint:gosec // our own text; what is filled in is escaped
	}))
	return compress.New(func() []byte { return page }), err
}

// literal writes what means something in texts of a shell, but may be in a url, so that it does not.
var literal = strings.NewReplacer("$", "%24", "!", "%21", "'", "%27", "&", "%26")
