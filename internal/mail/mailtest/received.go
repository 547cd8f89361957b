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

// Mail is one message the server took over.
type Mail struct {
	From      string   // the envelope's sender
	To        []string // the envelope's recipients
	Hello     string   // how the client called itself
	User      string   // who logged in, if anybody
	Encrypted bool     // it came over TLS
	Raw       string   // headers and body as sent
}

// Header is a header field, decoded; "" if there is none.
func (m Mail) Header(t testing.TB, name string) string {
	t.Helper()
	value, err := new(mime.WordDecoder).DecodeHeader(m.parse(t).Header.Get(name))
	if err != nil {
		t.Fatalf("header %s: %v", name, err)
	}
	return value
}

// Text is the plain text part.
func (m Mail) Text(t testing.TB) string {
	t.Helper()
	return m.part(t, "text/plain")
}

// HTML is the HTML part.
func (m Mail) HTML(t testing.TB) string {
	t.Helper()
	return m.part(t, "text/html")
}

func (m Mail) parse(t testing.TB) *netmail.Message {
	t.Helper()
	parsed, err := netmail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		t.Fatalf("not a message: %v\n%s", err, m.Raw)
	}
	return parsed
}

// part is the decoded body of the first part of a media type.
func (m Mail) part(t testing.TB, want string) string {
	t.Helper()
	message := m.parse(t)
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatalf("content type: %v", err)
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatalf("no part of type %s: %v", want, err)
		}
		if media, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); media != want {
			continue
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatalf("part %s: %v", want, err)
		}
		return strings.ReplaceAll(string(body), "\r\n", "\n")
	}
}
