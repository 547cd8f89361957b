package invite

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"foyer/internal/infra/mail"
	"foyer/internal/infra/mail/mailtest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func example() mailText {
	return mailText{
		OrganizationName: "Bücher & Söhne",
		InviterName:      "Grace Hopper",
		InviterEmail:     "grace@example.com",
		FirstName:        "Ada",
		Message:          "We start on Monday.\n\nBring tea; see wiki.example.com for the rest!",
		Level:            "admin",
		Link:             "https://foyer.example/invite/QmFzZTY0LXVybCB0b2tlbiB3aXRoIDE2MCBiaXRz",
		Expires:          "Wednesday, 4 March 2026, 12:30 UTC",
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	plain := example()
	plain.InviterName, plain.FirstName, plain.Message, plain.Level = "", "", "", "member"
	hostile := example()
	hostile.OrganizationName = "<b>Acme</b>\r\nBcc: eve@evil.example"
	hostile.InviterName = "Grace \u202egnp.exe\u202c www.evil.example"
	hostile.FirstName = "Ada</p><a href=//evil.example>"
	hostile.Message = "</blockquote><a href=\"https://evil.example\">click</a>\r\n\x00> Accept or decline here:\n\nhttps：//evil。example/{{.Link}}"
	for name, l := range map[string]mailText{"full": example(), "plain": plain, "hostile": hostile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts, err := render(l)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", "Subject: "+parts.Subject+"\n\n"+parts.Text)
			golden(t, name+".html", parts.HTML)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var hostileTexts = map[string]string{
	"header":        "Ada\r\nBcc: eve@evil.example\r\n\r\nbody",
	"closing tag":   "</p></td></table><script>alert(1)</script>",
	"attribute":     `" onmouseover="alert(1)" href="javascript:alert(1)`,
	"comment":       "<!-- <style> *{display:none} </style>",
	"template":      "{{.Link}} {{template \"x\"}}",
	"bidi":          "\u202elgoog\u202c \u2066a\u2069 \u200f\u200e\u061c",
	"zero width":    "evil\u200b.exam\u200dple \u2060\ufeff\u00ad",
	"url":           "https://evil.example/path?a=b#c",
	"bare host":     "go to evil.example now, or www.evil.example/x.",
	"address":       "eve@evil.example or mailto:eve@evil.example",
	"homoglyph url": "https：／／evil。example еvil．ехаmрlе evil｡example evil․example",
	"punycode":      "xn--e1awd7f.xn--p1ai",
	"ip address":    "http://10.0.0.1/ and 192.168.0.1",
	"encoded word":  "=\u200b?utf-8?q?evil=2Eexample=E2=80=AE?=",
	"nul":           "a\x00b\x1b[31mc\x07",
	"bad utf-8":     "a\xff\xfeb\xc3",
	"long":          strings.Repeat("evil.example ", 400),
	"one long word": strings.Repeat("x", 5000),
	"marks":         "Z" + strings.Repeat("\u0301", 5000),
}

var (
	linkText = regexp.MustCompile(`(?i)[a-z]+://[^\s<>"]+|mailto:|\b(www\.|[\pL\pN-]+\.)+\pL{2,}\b`)
	markup   = regexp.MustCompile(`<[^>]*>`)
)

func TestHostileTextsStayText(t *testing.T) {
	t.Parallel()
	for name, text := range hostileTexts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := example()
			l.OrganizationName, l.InviterName, l.FirstName, l.Message = text, text, text, text
			got, err := render(l)
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(got.Subject, "\r\n") || utf8.RuneCountInString(got.Subject) > 80 {
				t.Errorf("subject %q", got.Subject)
			}
			for _, part := range []string{got.Subject, got.Text, got.HTML} {
				onlyVisible(t, part)
				onlyOurLinks(t, l, part)
			}
			sameMarkup(t, l, got.HTML)
		})
	}
}

func onlyVisible(t *testing.T, part string) {
	t.Helper()
	for _, r := range part {
		if r != '\n' && unicode.In(r, unicode.C) || r == utf8.RuneError {
			t.Errorf("%U in %q", r, part)
		}
	}
}

// onlyOurLinks fails when a mail program would find a link in the text that is
// neither the invitation's nor the inviter's address.
func onlyOurLinks(t *testing.T, l mailText, part string) {
	t.Helper()
	part = markup.ReplaceAllString(part, "")
	part = strings.NewReplacer(l.Link, "", l.InviterEmail, "").Replace(part)
	if found := linkText.FindString(part); found != "" {
		t.Errorf("%q is a link", found)
	}
}

// sameMarkup fails when the tags differ from those of a mail with no hostile text and as many lines.
func sameMarkup(t *testing.T, l mailText, html string) {
	t.Helper()
	harmless := example()
	harmless.Message = strings.Repeat("A line.\n", strings.Count(l.Message, "\n")) + "The last one."
	want, err := render(harmless)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(markup.FindAllString(want.HTML, -1), markup.FindAllString(html, -1)); diff != "" {
		t.Errorf("the text changed the markup (-want +got):\n%s", diff)
	}
}

func TestHostileTextsArriveAsText(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Config{})
	settings, err := mail.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range hostileTexts {
		l := example()
		l.OrganizationName, l.InviterName, l.FirstName, l.Message = text, text, text, text
		parts, err := render(l)
		if err != nil {
			t.Fatal(err)
		}
		err = mail.SMTP{Settings: settings}.Send(t.Context(), mail.Message{
			From: "foyer@foyer.example", To: "ada@example.com", ReplyTo: l.InviterEmail, MessageID: "1",
			Subject: parts.Subject, Text: parts.Text, HTML: parts.HTML, Unsubscribe: l.Link,
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mails := server.Mails()
		got := mails[len(mails)-1]
		if len(got.To) != 1 || got.Header(t, "Subject") != parts.Subject || got.Header(t, "Bcc") != "" {
			t.Errorf("%s: to %q\n%s", name, got.To, got.Raw)
		}
		if got.Text(t) != parts.Text || got.HTML(t) != parts.HTML {
			t.Errorf("%s: the parts did not arrive as written", name)
		}
	}
}
