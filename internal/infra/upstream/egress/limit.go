package egress

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"

	"foyer/internal/base/fault"
)

var errTooMuch = errors.New("the connection brought in more than it may")

// limitedConn ends a connection that brings in too much in ways a body's limit
// does not see: headers, interim answers, one-byte chunks.
type limitedConn struct {
	net.Conn
	left atomic.Int64
}

// limited returns a connection that may bring in so much.
func limited(conn net.Conn, most int64) *limitedConn {
	c := &limitedConn{Conn: conn}
	c.left.Store(most)
	return c
}

// renew lets a connection that is used again bring in as much as a new one.
func renew(used httptrace.GotConnInfo) {
	conn := used.Conn
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if c, ok := conn.(*limitedConn); ok {
		c.left.Store(maxReceived)
	}
}

func (c *limitedConn) Read(p []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), left)])
	c.left.Add(-int64(n))
	return n, err
}

// limitedBody is a body whose errors are faults.
type limitedBody struct {
	body      io.ReadCloser
	left, max int64
	host      string
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	switch {
	case b.left < 0 || errors.Is(err, errTooMuch):
		return 0, fault.Field(fault.Invalid, "url", "%s sends more than %d MiB.", b.host, b.max>>20)
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case isTimeout(err):
		return n, fault.New(fault.UpstreamUnavailable, "%s did not finish its answer in time.", b.host)
	default:
		return n, fault.New(fault.UpstreamUnavailable, "%s broke its answer off.", b.host)
	}
}

func (b *limitedBody) Close() error { return b.body.Close() }
