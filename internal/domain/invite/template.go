package invite

import (
	"embed"
	"strings"

	"foyer/internal/base/plaintext"
	"foyer/internal/infra/mail"
)

// mailText holds the values that the mail of an invite shows. Texts come as they were typed; they are shown as plain
// text, not as links, markup or headers.
type mailText struct {
	OrganizationName string
	InviterName      string // "": the address stands for the name
	InviterEmail     string
	FirstName        string // of the invitee; may be ""
	Message          string // may be ""
	Level            string // what the invitee becomes: member, admin or owner
	Link             string // the page where the invitation is answered
	Expires          string // when the link stops working
}

// mailParts are the parts of a mail.
type mailParts struct {
	Subject string // one line of at most 80 characters
	Text    string
	HTML    string
}

// maxSubject is how much of a subject mail programs show, in characters.
const maxSubject = 80

// maxName is how much of a name is shown, in characters.
const maxName = 100

//go:embed templates
var files embed.FS

var mailTemplate = mail.NewTemplate(files, "invite")

// render fills in the templates.
func render(m mailText) (mailParts, error) {
	m = m.clean()
	text, html, err := mailTemplate.Render(m)
	unencoded := strings.ReplaceAll(m.OrganizationName, "=?", "= ?") // mail programs decode =?utf-8?q?…?= in a header (RFC 2047)
	subject := plaintext.Line("You are invited to join "+unencoded, maxSubject)
	return mailParts{Subject: subject, Text: text, HTML: html}, err
}

// clean makes everything that was typed fit to be shown.
func (m mailText) clean() mailText {
	m.OrganizationName = plaintext.Line(m.OrganizationName, maxName)
	m.InviterName = plaintext.Line(m.InviterName, maxName)
	m.InviterEmail = plaintext.Address(m.InviterEmail)
	m.FirstName = plaintext.Line(m.FirstName, maxName)
	m.Message = plaintext.Multiline(m.Message)
	return m
}

// Inviter returns the name of the inviter for a sentence.
func (m mailText) Inviter() string {
	if m.InviterName == "" {
		return m.InviterEmail
	}
	return m.InviterName + " (" + m.InviterEmail + ")"
}

// Role returns the level with its article.
func (m mailText) Role() string {
	if strings.IndexAny(m.Level, "aeiou") == 0 {
		return "an " + m.Level
	}
	return "a " + m.Level
}

// Lines returns the lines of the message. In the text part, each is quoted as mail does, so that it cannot pass for our
// words; in HTML, <br> separates them: Outlook and Office 365 ignore that the style keeps line breaks.
func (m mailText) Lines() []string { return strings.Split(m.Message, "\n") }
