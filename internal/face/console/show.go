package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"foyer/client"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/dedup"
	"foyer/internal/face/console/markdown"
	"foyer/internal/face/console/markup"
)

//go:embed templates
var files embed.FS

var templates = markup.New(files, template.FuncMap{
	"line":     line,
	"text":     plaintext.Visible,
	"address":  plaintext.Address,
	"label":    func(field string) string { return labels[field] },
	"form":     dedup.Name,
	"json":     short,
	"given":    func(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" },
	"indent":   indent,
	"markdown": markdown.HTML,
	"inline":   markdown.Inline,
	"held":     readHeld,
	"code":     code,
	"day":      func(t time.Time) string { return t.UTC().Format("2 January 2006") },
	"upstream": upstream,
	"another":  another,
	"failing":  failing,
	"share":    share,
	"branches": func(within []branch, page Source) branches { return branches{within, page} },
	"level":    func(l client.Level) string { return access.Level(l).String() },
})

// labels are what fields of forms are called.
var labels = map[string]string{
	"name": "Name", "description": "Description", "url": "Repository", "tag": "Tag",
	"reason": "Reason", "receiver": "Url", "events": "Events",
	"origins": "Origins", "position": "Position", "version": "Version", "paths": "Paths", "app": "App", "site": "Site",
	"filename": "File name", "zip": "Zip", "text": "Text", "source": "File",
	"addresses": "E-mail addresses", "email": "Your e-mail address", "level": "Role", "message": "A message", "expires_days": "Days until it expires", "expires_in": "Days until it expires",
	"allowed_domains": "Domains of addresses", "invite_ttl": "Days until invites expire", "first_name": "First name", "last_name": "Last name",
	"scopes": "Scopes", "organization_id": "Opens", "days": "Days until it expires",
}

func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// maxLine is how much of a name is shown, in characters.
const maxLine = 100

// line is a name, or the like, as it is shown.
func line(s string) string { return plaintext.VisibleLine(s, maxLine) }

// hashes are those in the activity.
var hashes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[0-9a-f]{40,}\b`) })

// maxShort is how many bytes of JSON are read to show its beginning.
const maxShort = 4 << 10

// short is JSON on one line, with hashes cut as git cuts them.
func short(text json.RawMessage) string {
	text = text[:min(len(text), maxShort)]
	return line(hashes().ReplaceAllStringFunc(string(text), func(hash string) string { return hash[:12] }))
}

// indent is JSON with one line per value.
func indent(text json.RawMessage) (string, error) {
	var b bytes.Buffer
	err := json.Indent(&b, text, "", "  ")
	return code(b.String()), err
}

// code is program text. Characters that would hide or reorder it are shown by number.
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
