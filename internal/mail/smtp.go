package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"foyer/internal/address"
)

// defaultTimeout is how long one mail may take, from dialling to the server's
// last answer. It stays below the 22 s that one try of a job may take.
const defaultTimeout = 20 * time.Second

// SMTP sends each message over a connection of its own.
type SMTP struct {
	Settings Settings
	Timeout  time.Duration  // for one mail; 0: defaultTimeout
	RootCAs  *x509.CertPool // who may vouch for the server; nil: the system's
}

// Error is why a mail was not sent. It never holds the credentials, nor the
// secrets of the message.
type Error struct {
	Code      int    // the mail server's answer, like 451; 0: it gave none
	Permanent bool   // trying again is of no use
	Asked     bool   // a mail server was reached
	Text      string // one line; of what a mail server says, at most 300 characters
}

func (e *Error) Error() string {
	if e.Code == 0 {
		return e.Text
	}
	return fmt.Sprintf("%s (%d)", e.Text, e.Code)
}

// Send hands m to the mail server: nil once the server has taken it over, else
// an *Error. When the connection breaks after the last byte nobody knows whether
// it was taken over; that is an error too, so a mail may arrive twice but is
// never lost.
func (s SMTP) Send(ctx context.Context, m Message) error {
	if failed := s.send(ctx, m); failed != nil {
		if failed.Asked { // else it is our own text
			failed.Text = fit(failed.Text, m.Secrets)
		}
		return failed
	}
	return nil
}

func (s SMTP) send(ctx context.Context, m Message) *Error {
	mail, err := m.seal()
	if err != nil {
		return &Error{Permanent: true, Text: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Timeout, defaultTimeout))
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Settings.address())
	if err != nil {
		return &Error{Text: "connecting to the mail server: " + err.Error()}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // ends whatever waits for an answer
	defer stop()

	return s.converse(ctx, conn, mail)
}

// converse speaks SMTP on an open connection. What goes wrong before the mail is
// named is about us and the server, not about the mail: the operator can repair
// it (a wrong password, say), so even a 5xx answer is not permanent there.
func (s SMTP) converse(ctx context.Context, conn net.Conn, mail envelope) *Error {
	client, failed := s.open(ctx, conn, mail.from)
	if failed != nil {
		return failed
	}
	if err := deliver(client, mail); err != nil {
		failed := failure(ctx, "sending", err)
		failed.Permanent = failed.Code >= 500
		return failed
	}
	// The mail is out: a QUIT that is not waited for keeps the time short in
	// which a crash would send it again.
	_, _ = client.Text.Cmd("QUIT")
	return nil
}

// open brings a connection to where a mail can be handed over.
func (s SMTP) open(ctx context.Context, conn net.Conn, from string) (*smtp.Client, *Error) {
	config := &tls.Config{ServerName: s.Settings.Host, RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12}
	if s.Settings.Security == TLS {
		conn = tls.Client(conn, config)
	}
	client, err := smtp.NewClient(conn, s.Settings.Host)
	if err != nil {
		return nil, failure(ctx, "greeting", err)
	}
	client.SkipSMTPUTF8(true) // both addresses are ASCII
	if err := client.Hello(address.DomainOf(from)); err != nil {
		return nil, failure(ctx, "EHLO", err)
	}
	if s.Settings.Security == STARTTLS {
		if ok, _ := client.Extension("STARTTLS"); !ok {
			return nil, &Error{Asked: true, Text: "the mail server offers no STARTTLS; nothing was sent"}
		}
		if err := client.StartTLS(config); err != nil {
			return nil, failure(ctx, "STARTTLS", err)
		}
	}
	if s.Settings.username == "" {
		return client, nil
	}
	return client, s.authenticate(ctx, client)
}

// authenticate logs in with PLAIN or LOGIN: inside TLS, or on smtp+plain, where
// the operator said that no protection is wanted.
func (s SMTP) authenticate(ctx context.Context, client *smtp.Client) *Error {
	_, offered := client.Extension("AUTH")
	unprotected := s.Settings.Security == Plain
	var auth smtp.Auth
	switch mechanisms := " " + offered + " "; {
	case strings.Contains(mechanisms, " PLAIN "):
		auth = smtp.PlainAuth("", s.Settings.username, s.Settings.password, s.Settings.Host, unprotected)
	case strings.Contains(mechanisms, " LOGIN "):
		auth = smtp.LoginAuth(s.Settings.username, s.Settings.password, s.Settings.Host, unprotected)
	default:
		return &Error{Asked: true, Text: "the mail server offers neither AUTH PLAIN nor AUTH LOGIN"}
	}
	err := client.Auth(auth)
	if err == nil {
		return nil
	}
	failed := failure(ctx, "AUTH", err)
	if failed.Code != 0 { // the answer may repeat what it was sent
		failed.Text = "the mail server refused the user name or the password"
	}
	return failed
}

// deliver hands the mail over; nil means the server has it.
func deliver(client *smtp.Client, mail envelope) error {
	if err := client.Mail("<" + mail.from + ">"); err != nil {
		return err
	}
	if err := client.Rcpt("<" + mail.to + ">"); err != nil {
		return err
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(mail.body); err != nil {
		return err
	}
	return w.Close()
}

// failure describes what went wrong while step was under way.
func failure(ctx context.Context, step string, err error) *Error {
	failed := &Error{Asked: true}
	reply, answered := errors.AsType[*textproto.Error](err)
	switch {
	case answered:
		failed.Code, failed.Text = reply.Code, "the mail server answered: "+reply.Msg
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		failed.Text = step + ": the mail server did not answer in time"
	case ctx.Err() != nil:
		failed.Text = step + ": stopped before the mail server answered"
	default:
		failed.Text = step + ": " + err.Error()
	}
	return failed
}
