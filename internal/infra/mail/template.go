package mail

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"sync"
	texttemplate "text/template"
)

// Template is the content of a mail, as text and as HTML. It is parsed on first use.
type Template struct {
	text func() *texttemplate.Template
	html func() *template.Template
}

//go:embed frame.html
var frame string

// NewTemplate returns the template of the files templates/NAME.txt and templates/NAME.html; the latter defines the blocks
// that frame.html uses.
func NewTemplate(files fs.FS, name string) Template {
	path := "templates/" + name
	return Template{
		text: sync.OnceValue(func() *texttemplate.Template { return texttemplate.Must(texttemplate.ParseFS(files, path+".txt")) }),
		html: sync.OnceValue(func() *template.Template {
			return template.Must(template.Must(template.New("frame.html").Parse(frame)).ParseFS(files, path+".html"))
		}),
	}
}

// Render executes both parts with data.
func (t Template) Render(data any) (text, html string, err error) {
	var plain, marked bytes.Buffer
	if err := t.text().Execute(&plain, data); err != nil {
		return "", "", fmt.Errorf("mail as text: %w", err)
	}
	if err := t.html().Execute(&marked, data); err != nil {
		return "", "", fmt.Errorf("mail as HTML: %w", err)
	}
	return plain.String(), marked.String(), nil
}
