// Package mail sends one message to one person through the operator's SMTP
// server, and says whether trying again makes sense when that fails.
package mail

import (
	"bytes"
	"errors"
	"fmt"
	netmail "net/mail"
	"regexp"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"
)

// Message is one e-mail to one person.
type Message struct {
	From      string // an address, or "Name <address>"
	To        string // an address
	ReplyTo   string // an address; "": replies go to From
	Subject   string
	Text      string // the text part
	HTML      string // the same for readers that show HTML
	MessageID string // without < >; the same on every try, so that receivers can drop doubles
	Date      time.Time
	// Unsubscribe is the url of a page that says no to such mails.
	Unsubscribe string
}

// envelope is a message ready to be sent.
type envelope struct {
	from, to string // plain addresses
	body     []byte
}

// seal checks the addresses of m and writes it in the form SMTP carries.
func (m Message) seal() (envelope, error) {
	from, err := sender(m.From)
	if err != nil {
		return envelope{}, fmt.Errorf("sender: %w", err)
	}
	to, err := ParseAddress(m.To)
	if err != nil {
		return envelope{}, fmt.Errorf("recipient: %w", err)
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(&netmail.Address{Address: to})
	if m.ReplyTo != "" {
		replyTo, err := ParseAddress(m.ReplyTo)
		if err != nil {
			return envelope{}, fmt.Errorf("reply to: %w", err)
		}
		msg.ReplyToMailAddress(&netmail.Address{Address: replyTo})
	}
	msg.Subject(m.Subject)
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetDateWithValue(m.Date)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no holiday replies
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

// sender reads an address that may come with a display name.
func sender(s string) (*netmail.Address, error) {
	if address, err := ParseAddress(s); err == nil {
		return &netmail.Address{Address: address}, nil
	}
	named, err := netmail.ParseAddress(s)
	if err != nil {
		return nil, errAddress
	}
	address, err := ParseAddress(named.Address)
	if err != nil {
		return nil, err
	}
	return &netmail.Address{Name: named.Name, Address: address}, nil
}

// maxAddress is the longest address that fits SMTP's path of 256 characters.
const maxAddress = 254

var (
	errAddress = errors.New("not an e-mail address of the form name@host.example")

	localPart = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$")
	hostName  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

// ParseAddress is a plain e-mail address in the one form foyer keeps and
// compares: trimmed, lower-case, the domain in ASCII (IDNA). No display name,
// no quotes, no comments, no address literal, 254 characters at most.
func ParseAddress(s string) (string, error) {
	local, domain, _ := strings.Cut(strings.TrimSpace(s), "@")
	if !localPart.MatchString(local) || len(local) > 64 {
		return "", errAddress
	}
	domain, err := idna.Lookup.ToASCII(strings.ToLower(domain))
	if err != nil || domain != "localhost" && !hostName.MatchString(domain) {
		return "", errAddress
	}
	if len(local)+1+len(domain) > maxAddress {
		return "", fmt.Errorf("longer than %d characters", maxAddress)
	}
	return strings.ToLower(local) + "@" + domain, nil
}
