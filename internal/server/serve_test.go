package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// served is a handler that is served as in production.
type served struct {
	connect func() (net.Conn, error)
	log     bytes.Buffer
	stop    func() // and wait
}

func serve(t *testing.T, h http.HandlerFunc) *served {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, h, func() (net.Conn, error) {
		return (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	})
}

// pipes is a listener with connections in memory, for synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p pipes) connect() (net.Conn, error) {
	here, there := net.Pipe()
	p <- there
	return here, nil
}

// serveOn is serve with a listener and a function that connects to it.
func serveOn(t *testing.T, ln net.Listener, h http.HandlerFunc, connect func() (net.Conn, error)) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	s := &served{connect: connect}
	go func() {
		stopped <- Server{Log: slog.New(slog.NewJSONHandler(&s.log, nil)), Leave: time.Second}.serve(ctx, ln, h)
	}()
	s.stop = func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		stopped <- nil
	}
	t.Cleanup(s.stop)
	return s
}

// dial connects, and sends a text.
func (s *served) dial(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, text) // a long header is refused before its end
	return c, bufio.NewReader(c)
}

const head = "GET / HTTP/1.1\r\nHost: foyer.example\r\n"

// A request that net/http refuses never reaches a handler.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s is handled", r.Method, r.URL) })
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\n\r\n":                                http.StatusBadRequest, // no host
		head + "Host: other.example\r\n\r\n":                    http.StatusBadRequest,
		head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n": http.StatusBadRequest,
		head + "Transfer-Encoding: strange\r\n\r\n":             http.StatusNotImplemented,
		head + "X-A: " + strings.Repeat("a", 2*maxHeaderBytes):  http.StatusRequestHeaderFieldsTooLarge,
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":  http.StatusBadRequest, // TLS
	} {
		_, r := s.dial(t, request)
		if got, err := http.ReadResponse(r, nil); err != nil || got.StatusCode != want {
			t.Errorf("%.60q: %v (%v), want %d", request, got, err, want)
		} else {
			got.Body.Close()
		}
	}
}

// A request's context ends when its client disconnects.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	c, _ := s.dial(t, head+"\r\n")
	<-began
	c.Close()
	<-ended
}

// A stop waits for requests in flight, but not for connections that are idle or have sent half of their next request.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testStop) // so that everything in the second before the stop happens within it
}

func testStop(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	ln := make(pipes)
	s := serveOn(t, ln, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			close(began)
			<-finish
		}
		fmt.Fprint(w, r.URL.Path)
	}, ln.connect)
	wantBody := func(r *bufio.Reader, want string) {
		t.Helper()
		got, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		if body, err := io.ReadAll(got.Body); string(body) != want || err != nil {
			t.Fatalf("got %q (%v), want %s", body, err, want)
		}
	}
	wantEnd := func(r *bufio.Reader) {
		t.Helper()
		if _, err := r.ReadByte(); err == nil {
			t.Error("more comes")
		}
	}
	_, idle := s.dial(t, head+"\r\n")
	wantBody(idle, "/")
	_, half := s.dial(t, head+"\r\n"+head)
	wantBody(half, "/")
	_, busy := s.dial(t, strings.Replace(head, "/", "/long", 1)+"\r\n")
	<-began
	idleConn, warned := s.dial(t, head+"\r\n")
	wantBody(warned, "/")
	stopped := make(chan struct{})
	go func() {
		s.stop()
		close(stopped)
	}()
	// For a second, answers say that their connection will be closed, and new connections are accepted.
	for told := false; !told; {
		c, r := s.dial(t, head+"\r\n")
		got, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		told = got.Close
		got.Body.Close()
		c.Close()
	}
	if _, err := io.WriteString(idleConn, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := http.ReadResponse(warned, nil); err != nil || !got.Close { //nolint:bodyclose // it has none
		t.Errorf("%+v %v", got, err)
	}
	wantEnd(idle)
	wantEnd(half)
	close(finish)
	wantBody(busy, "/long")
	wantEnd(busy)
	<-stopped
	if strings.Contains(s.log.String(), "did not end in time") {
		t.Error(s.log.String())
	}
}

// If a server cannot serve, no goroutine waits for its stop.
func TestServeOnAClosedListener(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	synctest.Test(t, func(t *testing.T) {
		err := Server{Log: slog.New(slog.DiscardHandler)}.serve(context.WithoutCancel(t.Context()), ln, http.NotFoundHandler())
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
