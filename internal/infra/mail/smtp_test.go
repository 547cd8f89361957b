package mail_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/infra/mail"
	"foyer/internal/infra/mail/mailtest"

	"github.com/google/go-cmp/cmp"
)

func message() mail.Message {
	return mail.Message{
		From:        "Foyer <foyer@bücher.example>",
		To:          "Ada@Bücher.example",
		ReplyTo:     "grace@example.com",
		Subject:     "Join Bücher & Söhne",
		Text:        "Hello Ada,\n.\nlong: " + strings.Repeat("x", 1200) + "\nGrüße",
		HTML:        "<p>Grüße</p>",
		MessageID:   "0192.1",
		Date:        time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Unsubscribe: "https://foyer.example/invite/abc",
	}
}

func sender(t *testing.T, url string) mail.SMTP {
	t.Helper()
	settings, err := mail.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return mail.SMTP{Settings: settings, RootCAs: mailtest.RootCAs(t)}
}

// send returns the typed reason of a failure, nil for none.
func send(t *testing.T, s mail.SMTP) *mail.Error {
	t.Helper()
	err := s.Send(t.Context(), message())
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*mail.Error](err)
	if !ok {
		t.Fatalf("%T is not a *mail.Error: %v", err, err)
	}
	return failed
}

func TestMailArrivesAsWritten(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Config{})
	if err := send(t, sender(t, server.URL())); err != nil {
		t.Fatal(err)
	}
	mails, err := server.Wait(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := mails[0]
	for name, want := range map[string]string{
		"From":             `"Foyer" <foyer@xn--bcher-kva.example>`,
		"To":               "<ada@xn--bcher-kva.example>",
		"Reply-To":         "<grace@example.com>",
		"Subject":          "Join Bücher & Söhne",
		"Message-ID":       "<0192.1@xn--bcher-kva.example>",
		"Date":             "Sun, 01 Mar 2026 12:00:00 +0000",
		"Auto-Submitted":   "auto-generated",
		"List-Unsubscribe": "<https://foyer.example/invite/abc>",
		"X-Mailer":         "",
		"User-Agent":       "",
	} {
		if value := got.Header(t, name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	if diff := cmp.Diff(message().Text, got.Text(t)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(message().HTML, got.HTML(t)); diff != "" {
		t.Error(diff)
	}
	if got.From != "foyer@xn--bcher-kva.example" || got.To[0] != "ada@xn--bcher-kva.example" || got.Hello != "xn--bcher-kva.example" {
		t.Errorf("envelope from %q to %q, hello %q", got.From, got.To, got.Hello)
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	const name, password = "ada@example.com", "p%s:/ss@w rd"
	for _, config := range []mailtest.Config{
		{Scheme: "smtp"},
		{Scheme: "smtps"},
		{Scheme: "smtp", Username: name, Password: password},
		{Scheme: "smtps", Username: name, Password: password, Login: true},
		{Scheme: "smtp+plain", Username: name, Password: password},
		{Scheme: "smtp+plain", Username: name, Password: password, Login: true},
	} {
		server := mailtest.Start(t, config)
		if err := send(t, sender(t, server.URL())); err != nil {
			t.Errorf("%+v: %v", config, err)
			continue
		}
		got := server.Mails()[0]
		if got.User != config.Username || got.Encrypted != (config.Scheme != "smtp+plain") {
			t.Errorf("%+v: user %q, encrypted %t", config, got.User, got.Encrypted)
		}
	}
}

// The error names the address that cannot be reached, so that the operator can look for it.
func TestServerThatIsAway(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	failed := send(t, sender(t, "smtp://ada:secret@"+address))
	if failed == nil || failed.Asked || failed.Permanent || !strings.Contains(failed.Text, address) || strings.Contains(failed.Error(), "secret") {
		t.Errorf("got %+v, want a text with %s", failed, address)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer mailtest.Answer
		want   mail.Error
	}{
		{"greylisted", mailtest.Refuse(451, "try later"), mail.Error{Code: 451, Asked: true}},
		{"refused", mailtest.Refuse(500, "no"), mail.Error{Code: 500, Permanent: true, Asked: true}},
		{"unknown", mailtest.RefuseRecipient(550, "who?"), mail.Error{Code: 550, Permanent: true, Asked: true}},
		{"sender", mailtest.RefuseSender(550, "who are you?"), mail.Error{Code: 550, Asked: true}},
		{"sender, late", mailtest.RefuseRecipient(553, "5.7.1 Sender address rejected"), mail.Error{Code: 553, Asked: true}},
		{"sender, at the end", mailtest.Refuse(550, "5.7.60 SMTP; Client does not have permissions to send as this sender"), mail.Error{Code: 550, Asked: true}},
		{"sender, at the end, in a word", mailtest.Refuse(554, "5.2.252 SendAsDenied; ada not allowed to send as foyer"), mail.Error{Code: 554, Asked: true}},
		{"sender, at the end, by Amazon", mailtest.Refuse(554, "Message rejected: Email address is not verified. The following identities failed the check in region EU-WEST-1: foyer@x.example"), mail.Error{Code: 554, Asked: true}},
		{"spam", mailtest.Refuse(554, "5.7.1 looks like spam"), mail.Error{Code: 554, Permanent: true, Asked: true}},
		{"policy, in two lines", mailtest.RefuseRecipient(550, "5.7.26\nThe mail is not authenticated."), mail.Error{Code: 550, Asked: true}},
		{"policy, without words", mailtest.RefuseRecipient(550, "5.7.1"), mail.Error{Code: 550, Asked: true}},
		{"login", mailtest.RefuseRecipient(530, "log in first"), mail.Error{Code: 530, Asked: true}},
		{"full", mailtest.RefuseRecipient(452, "full"), mail.Error{Code: 452, Asked: true}},
		{"dropped", mailtest.Drop, mail.Error{Asked: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, mailtest.Config{})
			server.Script(c.answer)
			s := sender(t, server.URL())
			failed := send(t, s)
			if failed == nil || failed.Text == "" {
				t.Fatalf("got %+v", failed)
			}
			c.want.Text = failed.Text
			if diff := cmp.Diff(&c.want, failed); diff != "" {
				t.Error(diff)
			}
			if again := send(t, s); again != nil || len(server.Mails()) != 1 || server.Asked() != 2 {
				t.Errorf("second try: %v, %d mails, asked %d times", again, len(server.Mails()), server.Asked())
			}
		})
	}
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the client begins TLS
			t.Error(err)
		}
		cancel()
	})
	failed, ok := errors.AsType[*mail.Error](sender(t, "smtps://"+listener.Addr().String()).Send(ctx, message()))
	listening.Wait()
	if !ok || failed.Permanent || !failed.Asked || !strings.Contains(failed.Text, "stopped before the mail server answered") {
		t.Errorf("got %+v", failed)
	}
}

func TestNothingIsSentWithoutProtection(t *testing.T) {
	t.Parallel()
	t.Run("no STARTTLS", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Config{Username: "ada", Password: "secret"})
		url := strings.Replace(server.URL(), "smtp+plain://", "smtp://", 1)
		failed := send(t, sender(t, url))
		if failed == nil || failed.Permanent || !failed.Asked || server.Asked() != 0 || !strings.Contains(failed.Text, "STARTTLS") {
			t.Errorf("got %+v, asked %d times", failed, server.Asked())
		}
	})
	for _, scheme := range []string{"smtp", "smtps"} {
		t.Run("unknown certificate, "+scheme, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, mailtest.Config{Scheme: scheme})
			s := sender(t, server.URL())
			s.RootCAs = nil
			failed := send(t, s)
			if failed == nil || failed.Permanent || server.Asked() != 0 || !strings.Contains(failed.Text, "certificate") {
				t.Errorf("got %+v, asked %d times", failed, server.Asked())
			}
		})
	}
}

// The operator can correct a wrong password: mails wait for that.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	for _, login := range []bool{false, true} {
		for code, later := range map[int]bool{535: false, 454: true} {
			server := mailtest.Start(t, mailtest.Config{Scheme: "smtp", Username: "ada", Password: "right", Login: login, Later: later})
			failed := send(t, sender(t, strings.Replace(server.URL(), "right", "s3cr3t", 1)))
			if failed == nil || failed.Permanent || failed.Code != code || strings.Contains(failed.Error(), "s3cr3t") {
				t.Errorf("login %t, %d: got %+v", login, code, failed)
			}
		}
	}
}

func TestBadMessageIsNeverOffered(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Config{})
	s := sender(t, server.URL())
	for name, change := range map[string]func(*mail.Message){
		"recipient": func(m *mail.Message) { m.To = "ada@example.com>\r\nRCPT TO:<eve@example.com" },
		"sender":    func(m *mail.Message) { m.From = "" },
		"sender: ":  func(m *mail.Message) { m.From = "Foyer <foyer@127.0.0.1>" },
		"reply to":  func(m *mail.Message) { m.ReplyTo = "nobody" },
	} {
		m := message()
		change(&m)
		failed, ok := errors.AsType[*mail.Error](s.Send(t.Context(), m))
		if !ok || !failed.Permanent || failed.Asked || !strings.HasPrefix(failed.Text, name) || server.Asked() != 0 {
			t.Errorf("%s: got %+v", name, failed)
		}
	}
}

func TestHeadersCannotBeInjected(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Config{})
	m := message()
	m.Subject = "Hi\r\nBcc: eve@example.com\r\n\r\nbody"
	if err := sender(t, server.URL()).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := server.Mails()[0]
	if got.Header(t, "Bcc") != "" || got.Header(t, "Subject") != m.Subject {
		t.Errorf("got\n%s", got.Raw)
	}
}
