package console

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"

	"foyer/client"
	"foyer/internal/base/address"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/face/console/dedup"
	"foyer/internal/face/console/markdown"
	"foyer/internal/face/console/markup"
)

//go:embed templates
var files embed.FS

var templates = markup.New(files, template.FuncMap{
	"line":     line,
	"brief":    brief,
	"text":     plaintext.Visible,
	"address":  whole,
	"label":    func(field string) string { return labels[withoutNumber(field)] },
	"form":     dedup.Name,
	"on":       on,
	"thing":    func(scope any) string { return things[activity.Scope(fmt.Sprint(scope))] },
	"spaced":   func(verb activity.Verb) string { return strings.ReplaceAll(string(verb), "_", " ") },
	"indent":   indent,
	"markdown": markdown.HTML,
	"short":    markdown.Short,
	"inline":   markdown.Inline,
	"held":     readHeld,
	"picture":  picture,
	"called":   called,
	"initials": initials,
	"hue":      hue,
	"agent":    agent,
	"code":     code,
	"unbroken": strings.NewReplacer("\r", "", "\n", "").Replace, // as browsers send the value of a one-line field
	"upstream": upstream,
	"another":  another,
	"failing":  failing,
	"share":    share,
	"branches": func(within []branch, page Source) branches { return branches{within, page} },
	"hour":     hour,
	"level":    func(l client.Level) string { return access.Level(l).String() },
})

// labels are the labels of the fields of forms.
var labels = map[string]string{
	"name": "Name", "description": "Description", "url": "Repository", "tag": "Tag",
	"reason": "Reason", "receiver": "Address", "events": "Events",
	"origins": "Origins", "position": "Position", "version": "Version", "paths": "Paths", "app": "App", "site": "Site", "page": "Address of the page",
	"filename": "File name", "zip": "Zip", "text": "Text", "source": "File",
	"addresses": "E-mail addresses", "email": "Your e-mail address", "level": "Role", "message": "A message", "expires_days": "Days until it expires", "expires_in": "Days until it expires",
	"allowed_domains": "Domains of addresses", "invite_ttl": "Days until invites expire", "first_name": "First name", "last_name": "Last name",
	"scope": "Kind", "activity": "What", "user": "By", "search": "Search", "since": "From", "until": "To",
	"scopes": "Scopes", "organization_id": "Organization", "organization_name": "Name of the organization", "days": "Days until it expires",
}

// hour returns when something was last used, but not a time before it began: the time of use is kept to the hour.
func hour(used *time.Time, began time.Time) time.Time {
	if used.Before(began) {
		return began
	}
	return *used
}

const oneDay = 24 * time.Hour

// moment formats a time within a sentence.
func moment(t time.Time) string { return t.UTC().Format(markup.TimeLayout) }

// maxLine is the longest part of a name that is shown, in characters.
const maxLine = 100

// line returns a name or similar text for display.
func line(s string) string { return plaintext.VisibleLine(s, maxLine) }

// whole returns an address for display: nothing on these pages turns it into a link.
func whole(email string) string { return plaintext.VisibleLine(email, address.MaxLength) }

// called returns an app's name, or its id if the name shows nothing: a placement has no name for an app that is deleted
// or no longer shared.
func called(name string, id int64) string {
	return cmp.Or(line(name), "App "+strconv.FormatInt(id, 10))
}

// maxBrief is the longest part of a description that a list shows, in characters.
const maxBrief = 160

// brief returns a description for a list: a long one ends after a word.
func brief(s string) string {
	text := plaintext.VisibleLine(s, maxBrief)
	cut, long := strings.CutSuffix(text, "…")
	if at := strings.LastIndexByte(cut, ' '); long && at > 0 {
		return cut[:at] + " …"
	}
	return text
}

// indent formats JSON with one line per value.
func indent(text json.RawMessage) (string, error) {
	var b bytes.Buffer
	err := json.Indent(&b, text, "", "  ")
	return code(b.String()), err
}

// code shows program text. Characters that would hide or reorder it are shown by number.
func code(text string) string {
	var b strings.Builder
	for _, r := range text {
		if (unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || plaintext.Shapeless(r)) && !strings.ContainsRune("\n\r\t", r) {
			fmt.Fprintf(&b, "<%U>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
