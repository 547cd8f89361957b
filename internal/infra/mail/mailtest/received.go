package mailtest

import (
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
)

// Mail is one message that the server accepted.
type Mail struct {
	From      string   // the envelope's sender
	To        []string // the envelope's recipients
	Hello     string   // the name in the client's EHLO
	User      string   // the user who logged in, if any
	Encrypted bool     // whether it came over TLS
	Raw       string   // headers and body as sent
}

// Header returns a header field, decoded; "" if there is none.
func (m Mail) Header(tb testing.TB, name string) string {
	tb.Helper()
	value, err := new(mime.WordDecoder).DecodeHeader(m.parse(tb).Header.Get(name))
	if err != nil {
		tb.Fatalf("header %s: %v", name, err)
	}
	return value
}

// Text returns the plain text part.
func (m Mail) Text(tb testing.TB) string {
	tb.Helper()
	return m.part(tb, "text/plain")
}

// HTML returns the HTML part.
func (m Mail) HTML(tb testing.TB) string {
	tb.Helper()
	return m.part(tb, "text/html")
}

func (m Mail) parse(tb testing.TB) *netmail.Message {
	tb.Helper()
	parsed, err := netmail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		tb.Fatalf("not a message: %v\n%s", err, m.Raw)
	}
	return parsed
}

// part returns the decoded body of the first part with a media type.
func (m Mail) part(tb testing.TB, want string) string {
	tb.Helper()
	message := m.parse(tb)
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		tb.Fatalf("content type: %v", err)
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			tb.Fatalf("no part of type %s: %v", want, err)
		}
		if media, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); media != want {
			continue
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			tb.Fatalf("part %s: %v", want, err)
		}
		return strings.ReplaceAll(string(body), "\r\n", "\n")
	}
}
