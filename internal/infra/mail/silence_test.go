package mail

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var answers = []string{"220 hello\r\n", "250-hello\r\n250-SMTPUTF8\r\n250 AUTH PLAIN\r\n", "235 welcome\r\n", "250 sender\r\n", "250 recipient\r\n", "354 go on\r\n", "250 sent\r\n"}

// converse sends a mail to a server at the other end of a connection.
func converse(t *testing.T, conn net.Conn) *Error {
	t.Helper()
	s := SMTP{Settings: Settings{scheme: withoutTLS, host: "mail.test", username: "ada", password: "secret"}}
	return s.converse(t.Context(), conn, envelope{from: "foyer@x.example", to: "ada@x.example"})
}

// The wait for a mail server's next response times out, however many responses came before.
func TestServerThatFallsSilent(t *testing.T) {
	t.Parallel()
	for n, want := range []time.Duration{openTime, openTime, openTime, handTime, handTime, handTime, acceptsTime} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				go func() { _, _ = io.WriteString(theirs, strings.Join(answers[:n], "")) }()
				go func() { _, _ = io.Copy(io.Discard, theirs) }()
				began := time.Now()
				failed := converse(t, ours)
				took := time.Since(began)
				if failed == nil || failed.Permanent || !failed.Asked || !strings.Contains(failed.Text, "in time") || took != want {
					t.Errorf("%+v after %s, want it after %s", failed, took, want)
				}
			})
		})
	}
}

// A client leaves with QUIT after a refusal, too (RFC 5321 section 4.1.1.10). It never asks for SMTPUTF8: another server
// on the way may not know it.
func TestEveryConversationEndsWithQuit(t *testing.T) {
	t.Parallel()
	for n := 1; n <= len(answers); n++ {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.WriteString(theirs, strings.Join(answers[:n], "")+strings.Repeat("550 no\r\n", 3)) }()
		go func() {
			_ = converse(t, ours)
			ours.Close()
		}()
		said, err := io.ReadAll(theirs)
		theirs.Close()
		if err != nil || !strings.HasSuffix(string(said), "\r\nQUIT\r\n") || strings.Contains(string(said), "SMTPUTF8") {
			t.Errorf("%d: %q, %v", n, said, err)
		}
	}
}

// A server that cannot do TLS now gets nothing without it.
func TestRefusedSTARTTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	go func() {
		_, _ = io.WriteString(theirs, answers[0]+"250-hello\r\n250 STARTTLS\r\n454 later\r\n"+strings.Join(answers[3:], ""))
	}()
	go func() {
		failed := SMTP{Settings: Settings{scheme: startTLS, host: "mail.test"}}.converse(t.Context(), ours, envelope{from: "foyer@x.example", to: "ada@x.example"})
		if failed == nil || failed.Permanent || failed.Code != 454 {
			t.Errorf("got %+v", failed)
		}
		ours.Close()
	}()
	said, err := io.ReadAll(theirs)
	if err != nil || !strings.HasSuffix(string(said), "\r\nSTARTTLS\r\nQUIT\r\n") {
		t.Errorf("%q, %v", said, err)
	}
}

// A server that asks a third question may repeat the password in it.
func TestThirdQuestion(t *testing.T) {
	t.Parallel()
	const asks = "334 c2VjcmV0\r\n" // the password
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() {
		_, _ = io.WriteString(theirs, answers[0]+"250-hello\r\n250 AUTH LOGIN\r\n"+strings.Repeat(asks, 3)+"501 stopped\r\n221 bye\r\n")
	}()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	if failed := converse(t, ours); failed == nil || failed.Permanent || !strings.Contains(failed.Text, "asks for more") || strings.Contains(failed.Error(), "secret") {
		t.Errorf("got %+v", failed)
	}
}

// An endless response of a mail server is not kept in memory.
func TestServerThatSaysTooMuch(t *testing.T) {
	t.Parallel()
	for _, said := range []string{strings.Repeat("220-hello\r\n", 200_000), "220 " + strings.Repeat("x", 2<<20)} {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go func() {
			_, _ = io.WriteString(theirs, said)
			theirs.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		failed := converse(t, ours)
		if failed == nil || failed.Permanent || !strings.Contains(failed.Text, "more than 1 MiB") {
			t.Errorf("%.10q: %v", said, failed)
		}
	}
}
