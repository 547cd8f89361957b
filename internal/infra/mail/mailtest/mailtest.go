// Package mailtest is a real SMTP server on loopback for tests: it keeps the mails that it gets, and a test controls its
// response to each.
package mailtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
)

// Config says what the server requires; the zero value has no TLS and no login.
type Config struct {
	Scheme             string // as in FOYER_SMTP: smtp, smtps, or smtp+plain, the default
	Username, Password string // required if set
	Login              bool   // offer AUTH LOGIN instead of AUTH PLAIN
	Later              bool   // refuse a wrong login temporarily, with 454
}

const plain = "smtp+plain"

// Server is a running mail server.
type Server struct {
	config Config
	addr   string
	stop   chan struct{} // closed at the end of the test

	mu      sync.Mutex
	script  []Answer
	always  Answer
	asked   int
	mails   []Mail
	arrived chan struct{} // closed and replaced when a mail arrives
}

// Start runs a server until the test ends.
func Start(tb testing.TB, config Config) *Server {
	tb.Helper()
	config.Scheme = cmp.Or(config.Scheme, plain)
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{config: config, addr: listener.Addr().String(), stop: make(chan struct{}), arrived: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{server: s, conn: c}, nil
	}))
	server.Domain = "mail.test"
	server.AllowInsecureAuth = config.Scheme == plain
	server.ErrorLog = log.New(io.Discard, "", 0)
	if config.Scheme != plain {
		certificate := testCertificate(tb)
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		if config.Scheme == "smtps" {
			listener = tls.NewListener(listener, server.TLSConfig)
		}
	}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	tb.Cleanup(func() {
		close(s.stop)
		_ = listener.Close()
		_ = server.Close()
		running.Wait()
	})
	return s
}

// URL returns the server as a value of FOYER_SMTP.
func (s *Server) URL() string {
	u := url.URL{Scheme: s.config.Scheme, Host: s.addr}
	if s.config.Username != "" {
		u.User = url.UserPassword(s.config.Username, s.config.Password)
	}
	return u.String()
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return s.addr }

// Script sets the responses to the next mails, in order; later mails get the response set by Always.
func (s *Server) Script(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, answers...)
}

// Always sets the response to all mails after those of the script.
func (s *Server) Always(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = a
}

// Asked returns how many mails the server was offered, accepted or not.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Mails returns the mails that the server accepted, oldest first.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}

// Wait returns once the server has accepted n mails, or with ctx's error.
func (s *Server) Wait(ctx context.Context, n int) ([]Mail, error) {
	for {
		s.mu.Lock()
		mails, arrived := slices.Clone(s.mails), s.arrived
		s.mu.Unlock()
		if len(mails) >= n {
			return mails, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return mails, fmt.Errorf("waiting for mail %d of %d: %w", len(mails)+1, n, ctx.Err())
		}
	}
}

// next returns the response to the mail that is just being offered.
func (s *Server) next() Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if len(s.script) == 0 {
		return s.always
	}
	a := s.script[0]
	s.script = s.script[1:]
	return a
}

func (s *Server) keep(m Mail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	close(s.arrived)
	s.arrived = make(chan struct{})
}
