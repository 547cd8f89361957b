package egress

import (
	"errors"
	"io"
	"net"

	"foyer/internal/base/fault"
)

var errTooMuch = errors.New("the connection brought in more than it may")

// limitedConn ends a connection that brings in too much in ways a body's limit
// does not see: headers, interim answers, one-byte chunks.
type limitedConn struct {
	net.Conn
	left int64
}

func (c *limitedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
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
