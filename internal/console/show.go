package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"

	"foyer/client"
	"foyer/internal/access"
	"foyer/internal/console/markup"
)

//go:embed templates
var files embed.FS

var templates = markup.New(files, template.FuncMap{
	"label":  label,
	"json":   func(text json.RawMessage) string { return markup.Line(string(text)) },
	"indent": indent,
	"code":   code,
	"day":    func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	"level":  func(l client.Level) string { return access.Level(l).String() },
})

// labels are what fields of forms are called.
var labels = map[string]string{
	"name": "Name", "description": "Description", "url": "Address", "tag": "Tag", "filename": "File name", "source": "Files",
	"addresses": "Addresses", "target_email": "Address", "text": "Text", "message": "Message", "level": "Level", "scopes": "Scopes", "days": "Days",
}

// label is what a field is called; that of an item of a list, such as 2.target_email, by its
// place from 1. Where there is no such field it is "".
func label(field string) string {
	place, of, ok := strings.Cut(field, ".")
	if i, err := strconv.Atoi(place); ok && err == nil {
		return strings.TrimSpace(labels[of] + " " + strconv.Itoa(i+1))
	}
	return labels[field]
}

// indent is JSON with a line for each value.
func indent(text json.RawMessage) (string, error) {
	var b bytes.Buffer
	err := json.Indent(&b, text, "", "  ")
	return code(b.String()), err
}

// code is text of a program. What would hide or reorder some of it is shown by its number.
func code(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) && !strings.ContainsRune("\n\r\t", r) {
			fmt.Fprintf(&b, "<%U>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
