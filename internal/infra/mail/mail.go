// Package mail sends a message to one person through the operator's SMTP server, and says whether a retry makes sense
// when that fails.
package mail

import (
	"bytes"
	"fmt"
	netmail "net/mail"
	"time"

	gomail "github.com/wneessen/go-mail"

	"foyer/internal/base/address"
)

// Message is one e-mail to one person.
type Message struct {
	From      string // an address, or "Name <address>"
	To        string // an address
	ReplyTo   string // an address; "": replies go to From
	Subject   string
	Text      string // the text part
	HTML      string // the same content for readers that show HTML
	MessageID string // its unique part, before the @; the same on every try, so that receivers can drop duplicates
	Date      time.Time
	// Unsubscribe is the url of a page where people can refuse such mails.
	Unsubscribe string
	// Secrets are parts of the texts, made of letters, digits, - and _, that must not be shown when a mail server repeats
	// them.
	Secrets []string
}

// envelope is a message ready to be sent.
type envelope struct {
	from, to string // plain addresses
	body     []byte
}

// encode checks the addresses of m and returns m in the format of SMTP.
func (m Message) encode() (envelope, error) {
	from, err := ParseSender(m.From)
	if err != nil {
		return envelope{}, fmt.Errorf("sender: %w", err)
	}
	to, err := address.Parse(m.To)
	if err != nil {
		return envelope{}, fmt.Errorf("recipient: %w", err)
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(&netmail.Address{Address: to})
	if m.ReplyTo != "" {
		replyTo, err := address.Parse(m.ReplyTo)
		if err != nil {
			return envelope{}, fmt.Errorf("reply to: %w", err)
		}
		msg.ReplyToMailAddress(&netmail.Address{Address: replyTo})
	}
	msg.Subject(m.Subject)
	msg.SetMessageIDWithValue(m.MessageID + "@" + address.DomainOf(from.Address))
	msg.SetDateWithValue(m.Date)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no automatic replies
	if m.Unsubscribe != "" {
		msg.SetGenHeader(gomail.HeaderListUnsubscribe, "<"+m.Unsubscribe+">")
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)

	var body bytes.Buffer
	if _, err := msg.WriteTo(&body); err != nil {
		return envelope{}, fmt.Errorf("writing the message: %w", err)
	}
	return envelope{from: from.Address, to: to, body: body.Bytes()}, nil
}

// ParseSender reads an address with an optional display name.
func ParseSender(s string) (*netmail.Address, error) {
	named, err := netmail.ParseAddress(s)
	if err != nil {
		return nil, err
	}
	plain, err := address.Parse(named.Address)
	if err != nil {
		return nil, err
	}
	return &netmail.Address{Name: named.Name, Address: plain}, nil
}
