package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"

	"foyer/internal/base/address"
	"foyer/internal/base/limitedconn"
	"foyer/internal/infra/job"
)

// Timeouts of the parts of a conversation; their sum is less than the 16 minutes that one try of a job may take. Most
// servers look for spam before they answer the last byte: a client that gives up early sends the mail again (RFC 5321,
// section 4.5.3.2.6).
const (
	openTime    = time.Minute      // to connect, and again until the login
	handTime    = 3 * time.Minute  // from MAIL to the last byte of the message
	acceptsTime = 10 * time.Minute // for the response to the last byte
)

// maxAnswers is how many bytes a mail server may send in one conversation.
const maxAnswers = 1 << 20

var errTooMuch = errors.New("the mail server sends more than 1 MiB")

// SMTP sends each message over a connection of its own.
type SMTP struct {
	Settings Settings
	RootCAs  *x509.CertPool // certificate authorities trusted for the server; nil: the system's
}

// Error says why a mail was not sent. It never contains the credentials or the secrets of the message.
type Error struct {
	Code      int    // the mail server's response, like 451; 0: none
	Permanent bool   // a retry is of no use
	Asked     bool   // whether a mail server was reached
	Text      string // one line, with at most 300 characters of the mail server's response
}

func (e *Error) Error() string {
	if e.Code == 0 {
		return e.Text
	}
	return fmt.Sprintf("%s (%d)", e.Text, e.Code)
}

// Send hands m to the mail server. It returns nil once the server has accepted m, else an *Error, marked with
// job.Permanent if it is permanent. When the connection breaks after the last byte, nobody knows whether the server has
// accepted m. That is an error too: a mail may arrive twice, but is never lost.
func (s SMTP) Send(ctx context.Context, m Message) error {
	if failed := s.send(ctx, m); failed != nil {
		if failed.Asked { // else it is our own text
			failed.Text = fit(failed.Text, m.Secrets)
		}
		if failed.Permanent {
			return job.Permanent(failed)
		}
		return failed
	}
	return nil
}

func (s SMTP) send(ctx context.Context, m Message) *Error {
	mail, err := m.encode()
	if err != nil {
		return &Error{Permanent: true, Text: err.Error()}
	}
	dialer := net.Dialer{Timeout: openTime}
	conn, err := dialer.DialContext(ctx, "tcp", s.Settings.address())
	if err != nil {
		return &Error{Text: "connecting to the mail server: " + err.Error()}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // ends any wait for a response
	defer stop()

	return s.converse(ctx, conn, mail)
}

// converse speaks SMTP on an open connection. A failure before the recipient is named concerns us and the server, not the
// mail: the operator can repair it (a wrong password or sender, for example), so even a 5xx response is not permanent
// there.
func (s SMTP) converse(ctx context.Context, conn net.Conn, mail envelope) *Error {
	conn = limitedconn.New(conn, maxAnswers, errTooMuch) // the library reads lines of any length
	limit(conn, openTime)
	client, failed := s.open(ctx, conn, mail.from)
	if client != nil {
		// Without waiting for the response, there is less time in which a crash would cause a second mail.
		defer func() { _, _ = client.Text.Cmd("QUIT") }()
	}
	if failed != nil {
		return failed
	}
	limit(conn, handTime)
	if err := client.Mail("<" + mail.from + ">"); err != nil {
		return failure(ctx, "naming the sender", err)
	}
	body, err := handOver(client, mail)
	ours := aboutUs(err)
	if err == nil {
		limit(conn, acceptsTime)
		err = body.Close()
		ours = refusesSender(err)
	}
	if err != nil {
		failed := failure(ctx, "sending", err)
		failed.Permanent = failed.Code >= 500 && !ours
		return failed
	}
	return nil
}

// limit sets the timeout of the next part of a conversation.
func limit(conn net.Conn, part time.Duration) {
	at := time.Now().Add(part) //nolint:forbidigo // the network has no other clock
	_ = conn.SetDeadline(at)   // if conn is closed, the next use fails
}

// open logs in on a connection, so that a mail can be sent. Once the server has greeted, there is a client even if that
// fails.
func (s SMTP) open(ctx context.Context, conn net.Conn, from string) (*smtp.Client, *Error) {
	config := &tls.Config{ServerName: s.Settings.host, RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12}
	if s.Settings.scheme == implicitTLS {
		conn = tls.Client(conn, config)
	}
	client, err := smtp.NewClient(conn, s.Settings.host)
	if err != nil {
		return nil, failure(ctx, "greeting", err)
	}
	client.SkipSMTPUTF8(true) // both addresses are ASCII
	if err := client.Hello(address.DomainOf(from)); err != nil {
		return client, failure(ctx, "EHLO", err)
	}
	if s.Settings.scheme == startTLS {
		if ok, _ := client.Extension("STARTTLS"); !ok {
			return client, &Error{Asked: true, Text: "the mail server offers no STARTTLS; nothing was sent"}
		}
		if err := client.StartTLS(config); err != nil {
			return client, failure(ctx, "STARTTLS", err)
		}
	}
	if s.Settings.username == "" {
		return client, nil
	}
	return client, s.authenticate(ctx, client)
}

// authenticate logs in with PLAIN or LOGIN: inside TLS, or without it on smtp+plain, where the operator wants none.
func (s SMTP) authenticate(ctx context.Context, client *smtp.Client) *Error {
	_, offered := client.Extension("AUTH")
	unprotected := s.Settings.scheme == withoutTLS
	var auth smtp.Auth
	switch mechanisms := " " + offered + " "; {
	case strings.Contains(mechanisms, " PLAIN "):
		auth = smtp.PlainAuth("", s.Settings.username, s.Settings.password, s.Settings.host, unprotected)
	case strings.Contains(mechanisms, " LOGIN "):
		auth = smtp.LoginAuth(s.Settings.username, s.Settings.password, s.Settings.host, unprotected)
	default:
		return &Error{Asked: true, Text: "the mail server offers neither AUTH PLAIN nor AUTH LOGIN"}
	}
	err := client.Auth(auth)
	if err == nil {
		return nil
	}
	failed := failure(ctx, "AUTH", err)
	switch { // the response may repeat the credentials
	case failed.Code >= 500:
		failed.Text = "the mail server refused the user name or the password"
	case failed.Code != 0:
		failed.Text = "the mail server cannot take a login now"
	case errors.Is(err, smtp.ErrUnexpectedServerResponse):
		failed.Text = "the mail server asks for more than a user name and a password"
	}
	return failed
}

// aboutUs reports whether a refusal of the recipient really concerns the sender or the connection; many servers delay
// such a refusal until then. The response is 530 for a missing login (RFC 4954, section 6), or has an enhanced code for
// the sender's address or a policy (RFC 3463).
func aboutUs(err error) bool {
	reply, _ := errors.AsType[*textproto.Error](err)
	return reply != nil && (reply.Code == 530 || ourCodes().MatchString(reply.Msg))
}

var ourCodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|\s)5\.(1\.[78]|7\.\d+)(\s|$)`) })

// refusesSender reports whether a refusal of the whole mail really concerns its sender: Exchange and Amazon SES look at the
// sender after the last byte. Other policies that a server names then, such as those against spam, concern the mail.
func refusesSender(err error) bool {
	reply, _ := errors.AsType[*textproto.Error](err)
	return reply != nil && senderRefused().MatchString(reply.Msg)
}

var senderRefused = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`SendAsDenied|Email address is not verified|(^|\s)5\.(1\.[78]|7\.60)(\s|$)`)
})

// handOver sends the mail except its end: the server has accepted it once Close of the result returns nil.
func handOver(client *smtp.Client, mail envelope) (io.Closer, error) {
	if err := client.Rcpt("<" + mail.to + ">"); err != nil {
		return nil, err
	}
	w, err := client.Data()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(mail.body)
	return w, err
}

// failure describes an error during step.
func failure(ctx context.Context, step string, err error) *Error {
	failed := &Error{Asked: true}
	reply, answered := errors.AsType[*textproto.Error](err)
	switch {
	case answered:
		failed.Code, failed.Text = reply.Code, reply.Msg
	case errors.Is(err, os.ErrDeadlineExceeded):
		failed.Text = step + ": the mail server did not answer in time"
	case ctx.Err() != nil:
		failed.Text = step + ": stopped before the mail server answered"
	default:
		failed.Text = step + ": " + err.Error()
	}
	return failed
}
