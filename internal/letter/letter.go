// Package letter writes the mail that brings an invitation: subject, text and
// HTML. Whatever people typed is shown as text that is no link, markup or header.
package letter

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"
	"sync"
	texttemplate "text/template"
	"time"

	"foyer/internal/plaintext"
)

// Letter is what an invitation says. Texts come as they were typed.
type Letter struct {
	OrganizationName string
	InviterName      string // "": the address stands for the name
	InviterEmail     string
	FirstName        string // of the invited; may be ""
	Message          string // may be ""
	Level            string // what the invited becomes: member, admin or owner
	Link             string // the page where the invitation is answered
	ExpiresAt        time.Time
}

// Parts are the parts of a mail.
type Parts struct {
	Subject string // one line of at most 80 characters
	Text    string
	HTML    string
}

// maxSubject is what mail programs show of a subject, in characters.
const maxSubject = 80

// maxName is how much of a name is shown, in characters.
const maxName = 100

//go:embed templates
var files embed.FS

var (
	textPart = sync.OnceValue(func() *texttemplate.Template {
		return texttemplate.Must(texttemplate.ParseFS(files, "templates/letter.txt"))
	})
	htmlPart = sync.OnceValue(func() *template.Template {
		return template.Must(template.ParseFS(files, "templates/letter.html"))
	})
)

// Render writes l.
func Render(l Letter) (Parts, error) {
	l = l.clean()
	var text, html bytes.Buffer
	if err := textPart().Execute(&text, l); err != nil {
		return Parts{}, fmt.Errorf("letter as text: %w", err)
	}
	if err := htmlPart().Execute(&html, l); err != nil {
		return Parts{}, fmt.Errorf("letter as HTML: %w", err)
	}
	subject := plaintext.Line("You are invited to join "+l.OrganizationName, maxSubject)
	return Parts{Subject: subject, Text: text.String(), HTML: html.String()}, nil
}

// clean makes everything that was typed fit to be shown.
func (l Letter) clean() Letter {
	l.OrganizationName = plaintext.Line(l.OrganizationName, maxName)
	l.InviterName = plaintext.Line(l.InviterName, maxName)
	l.InviterEmail = plaintext.Address(l.InviterEmail)
	l.FirstName = plaintext.Line(l.FirstName, maxName)
	l.Message = plaintext.Multiline(l.Message)
	return l
}

// Inviter is how the inviter is called in a sentence.
func (l Letter) Inviter() string {
	if l.InviterName == "" {
		return l.InviterEmail
	}
	return l.InviterName + " (" + l.InviterEmail + ")"
}

// Role is the level with its article.
func (l Letter) Role() string {
	if strings.IndexAny(l.Level, "aeiou") == 0 {
		return "an " + l.Level
	}
	return "a " + l.Level
}

// Expires is when the link stops working, to the minute.
func (l Letter) Expires() string {
	return l.ExpiresAt.UTC().Format("Monday, 2 January 2006, 15:04 UTC")
}

// Quoted is the message as mail quotes it, so that it cannot pass for our words.
func (l Letter) Quoted() string {
	return "> " + strings.ReplaceAll(l.Message, "\n", "\n> ")
}
