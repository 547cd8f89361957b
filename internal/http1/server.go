// Package http1 answers plain HTTP/1.1 requests by itself, for a fraction of what
// net/http takes, and leaves all others to net/http.
package http1

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an http.Server before which plain requests are answered: small ones that
// come within a second, with nothing in them that two readers could take for two things
// (see request.parse). The first request of a connection that is not plain takes it to
// net/http for good, with nothing of it lost. Both call the same handler.
//
// Of http.Server's fields it heeds Handler, ReadHeaderTimeout, WriteTimeout, IdleTimeout
// and ErrorLog, all of which must be set, and leaves the rest to net/http. WriteTimeout must
// be much longer than a twentieth of IdleTimeout: deadlines are not set for each request.
//
// A handler keeps nothing of its request when it returns, unless the request's context
// has ended. It sets the Content-Type of what it writes, and the Content-Length if that
// is much; it leaves Connection, Date, Trailer and Transfer-Encoding alone, and writes
// final statuses only.
type Server struct {
	http     *http.Server
	stopping atomic.Bool
	running  sync.WaitGroup // a connection each
	mu       sync.Mutex
	conns    map[*conn]struct{}
}

// New returns a server of these settings.
func New(settings *http.Server) *Server {
	return &Server{http: settings, conns: map[*conn]struct{}{}}
}

// Serve answers who connects to ln, over TCP. Like http.Server's it always returns an error:
// http.ErrServerClosed after Shutdown or Close.
func (s *Server) Serve(ln net.Listener) error {
	l := &listener{Listener: ln, handedOver: make(chan net.Conn), failed: make(chan error), closed: make(chan struct{})}
	go l.run(s)
	return s.http.Serve(l)
}

// Shutdown stops listening, closes connections that are idle and the others once they
// have been answered, and returns when there are none or ctx is done. From now on nobody
// is noticed who hangs up.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	err := s.http.Shutdown(ctx)
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// past is a deadline that ends what waits.
var past = time.Unix(1, 0)

func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for c := range s.conns {
		_ = c.SetReadDeadline(past) // fails if it was closed
	}
}

// Close stops listening, closes all connections, and ends the contexts of requests.
func (s *Server) Close() error {
	s.stop()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close() // first, or there would be answers about the end of the context
		c.cancel()
	}
	s.mu.Unlock()
	return s.http.Close()
}

// start serves a connection. It is handed over if one of its requests is not plain.
func (s *Server) start(tcp *net.TCPConn, handOver func(net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() { // Shutdown may wait already
		_ = tcp.Close()
		return
	}
	c := newConn(s, tcp)
	s.conns[c] = struct{}{}
	s.running.Go(func() {
		if rest := c.run(); rest != nil {
			handOver(rest)
		}
	})
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// listener is where net/http gets its connections: not from the network.
type listener struct {
	net.Listener
	handedOver chan net.Conn
	failed     chan error // to accept: net/http logs it, and pauses before it asks again
	closed     chan struct{}
}

func (l *listener) run(s *Server) {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			s.start(c.(*net.TCPConn), l.handOver)
			continue
		}
		select {
		case l.failed <- err:
		case <-l.closed:
			return
		}
	}
}

func (l *listener) handOver(c net.Conn) {
	select {
	case l.handedOver <- c:
	case <-l.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.handedOver:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. net/http calls it once.
func (l *listener) Close() error {
	close(l.closed)
	return l.Listener.Close()
}
