package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

const (
	// patience is how long the rest of a request may take: who is slower is left to
	// net/http, which has limits for that.
	patience = time.Second
	// watchAfter is how long a request takes until its client is watched: few do.
	watchAfter = 100 * time.Millisecond
)

// conn is a connection while its requests are plain.
type conn struct {
	*net.TCPConn

	server *Server
	cancel context.CancelFunc // of its requests
	armed  time.Time          // when answer set the deadlines; zero: the next one does

	in       [maxRequest]byte
	received int // bytes in in
	request  request
	response response

	timer   *time.Timer // begins watch
	watched chan int    // bytes received by watch, at its end
}

func newConn(s *Server, tcp *net.TCPConn) *conn {
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{TCPConn: tcp, server: s, cancel: cancel, watched: make(chan int, 1)}
	c.request.init(ctx, tcp.RemoteAddr().String())
	c.response.init(tcp, cancel, &s.stopping)
	c.timer = time.AfterFunc(time.Hour, c.watch)
	c.timer.Stop()
	_ = c.SetReadDeadline(time.Now().Add(s.http.ReadHeaderTimeout)) // fails if the client has gone
	return c
}

// run answers requests until the connection ends, or one is not plain: then the
// connection is returned as it was before that one.
func (c *conn) run() (rest net.Conn) {
	defer func() {
		c.cancel()
		c.server.forget(c)
		if rest == nil {
			_ = c.Close()
		}
	}()
	defer c.logPanic()
	for {
		size, err := c.receive()
		if errors.Is(err, errNotPlain) {
			return &begun{TCPConn: c.TCPConn, unread: slices.Clone(c.in[:c.received])}
		}
		if err != nil || c.answer() != nil {
			return nil
		}
		c.received = copy(c.in[:], c.in[size:c.received])
	}
}

// logPanic ends the panic of a handler.
func (c *conn) logPanic() {
	if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is told apart as net/http does
		c.server.http.ErrorLog.Printf("http: panic serving %v: %v\n%s", c.RemoteAddr(), p, debug.Stack())
	}
}

// receive waits for the next request, and returns its size in bytes. After the end of the
// context all are net/http's: what was begun for the last one may still look at it.
func (c *conn) receive() (size int, err error) {
	if c.server.stopping.Load() {
		return 0, http.ErrServerClosed
	}
	if c.request.blank.Context().Err() != nil {
		return 0, errNotPlain
	}
	for waited := false; ; {
		if c.received > 0 {
			size, err := c.request.parse(c.in[:c.received])
			switch {
			case !errors.Is(err, errIncomplete):
				return size, err
			case c.received == len(c.in):
				return 0, errNotPlain
			case !waited:
				waited, c.armed = true, time.Time{}
				_ = c.SetReadDeadline(time.Now().Add(patience))
			}
		}
		n, err := c.Read(c.in[c.received:])
		c.received += n
		switch {
		case err == nil:
		case c.received > 0 && !c.server.stopping.Load():
			return 0, errNotPlain
		default:
			return 0, err
		}
	}
}

// answer lets the handler answer the request. It fails if the connection cannot go on.
func (c *conn) answer() error {
	if now := time.Now(); now.Sub(c.armed) > c.server.http.IdleTimeout/20 { // each setting costs more than the clock
		c.armed = now
		_ = c.SetReadDeadline(now.Add(c.server.http.IdleTimeout))
		_ = c.SetWriteDeadline(now.Add(c.server.http.WriteTimeout))
	}
	c.response.begin()
	c.timer.Reset(watchAfter)
	c.server.http.Handler.ServeHTTP(&c.response, &c.request.Request)
	if !c.timer.Stop() {
		c.unwatch()
	}
	return c.response.end()
}

// watch receives while a request is answered, to see if its client hangs up: then nobody
// waits for the answer.
func (c *conn) watch() {
	n, err := c.Read(c.in[c.received:])
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
	c.watched <- n
}

// unwatch ends a watch, also one that is about to begin.
func (c *conn) unwatch() {
	_ = c.SetReadDeadline(past)
	c.received += <-c.watched
	_ = c.SetReadDeadline(time.Now().Add(c.server.http.IdleTimeout))
}

// begun is a connection of which some bytes have been received. net/http asks it for more
// than a net.Conn has.
type begun struct {
	*net.TCPConn

	unread []byte
}

// Read implements io.Reader.
func (c *begun) Read(p []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	c.unread = nil // nor is its memory kept
	return c.TCPConn.Read(p)
}
