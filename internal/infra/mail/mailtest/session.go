package mailtest

import (
	"bytes"
	"io"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Answer is the server's response to one mail. The zero Answer accepts it.
type Answer struct {
	code      int
	text      string
	recipient bool // answer RCPT, not the end of DATA
	sender    bool // answer MAIL
	drop      bool
	until     <-chan struct{}
}

// Drop closes the connection in the middle of the data.
var Drop = Answer{drop: true}

// Refuse answers the data with a code, like 451 or 550.
func Refuse(code int, text string) Answer { return Answer{code: code, text: text} }

// RefuseRecipient answers the recipient's address with a code.
func RefuseRecipient(code int, text string) Answer {
	return Answer{code: code, text: text, recipient: true}
}

// RefuseSender answers the sender's address with a code.
func RefuseSender(code int, text string) Answer { return Answer{code: code, text: text, sender: true} }

// After delays the response to the data until the channel is closed.
func (a Answer) After(until <-chan struct{}) Answer {
	a.until = until
	return a
}

func (a Answer) err() error {
	if a.code == 0 {
		return nil
	}
	class := a.code / 100
	return &smtp.SMTPError{Code: a.code, EnhancedCode: smtp.EnhancedCode{class, 0, 0}, Message: a.text}
}

// session is one connection; go-smtp calls its methods in the order of SMTP.
type session struct {
	server *Server
	conn   *smtp.Conn
	user   string
	answer Answer
	mail   Mail
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.config.Username != "" && s.user == "" {
		return smtp.ErrAuthRequired
	}
	_, encrypted := s.conn.TLSConnectionState()
	s.mail = Mail{From: from, Hello: s.conn.Hostname(), User: s.user, Encrypted: encrypted}
	s.answer = s.server.next()
	if s.answer.sender {
		return s.answer.err()
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = append(s.mail.To, to)
	if s.answer.recipient {
		return s.answer.err()
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	if s.answer.drop {
		_, _ = io.CopyN(io.Discard, r, 1)
		return s.conn.Conn().Close()
	}
	var raw bytes.Buffer
	if _, err := raw.ReadFrom(r); err != nil {
		return err
	}
	s.mail.Raw = raw.String()
	if s.answer.until != nil {
		select {
		case <-s.answer.until:
		case <-s.server.stop:
		}
	}
	if err := s.answer.err(); err != nil {
		return err
	}
	s.server.keep(s.mail)
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// AuthMechanisms returns the mechanisms that EHLO offers.
func (s *session) AuthMechanisms() []string {
	switch {
	case s.server.config.Username == "":
		return nil
	case s.server.config.Login:
		return []string{"LOGIN"}
	}
	return []string{sasl.Plain}
}

// Auth starts the login.
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	if mechanism == "LOGIN" {
		return &login{check: s.check}, nil
	}
	return sasl.NewPlainServer(func(_, username, password string) error { return s.check(username, password) }), nil
}

func (s *session) check(username, password string) error {
	if username != s.server.config.Username || password != s.server.config.Password {
		// Some servers repeat the credentials; no part of them may get into a log.
		refused := &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "bad login " + username + " " + password}
		if s.server.config.Later {
			refused.Code, refused.EnhancedCode = 454, smtp.EnhancedCode{4, 7, 0}
		}
		return refused
	}
	s.user = username
	return nil
}

// login implements AUTH LOGIN: the server asks for the name, then for the password.
type login struct {
	check   func(username, password string) error
	answers []string
}

// Next implements sasl.Server.
func (l *login) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil {
		l.answers = append(l.answers, string(response))
	}
	switch len(l.answers) {
	case 0:
		return []byte("Username:"), false, nil
	case 1:
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(l.answers[0], l.answers[1])
}
