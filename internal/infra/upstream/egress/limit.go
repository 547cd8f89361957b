package egress

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http/httptrace"

	"foyer/internal/base/fault"
	"foyer/internal/base/limitedconn"
)

// errTooMuch is the error when a connection receives too much that the body's limit does not count: headers, interim
// responses, one-byte chunks.
var errTooMuch = errors.New("the connection brought in more than it may")

// renew lets a reused connection receive as much as a new one.
func renew(used httptrace.GotConnInfo) {
	conn := used.Conn
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if c, ok := conn.(*limitedconn.Conn); ok {
		c.Renew(maxReceived)
	}
}

// limitedBody is a body whose errors are faults.
type limitedBody struct {
	io.ReadCloser

	left, max int64
	host      string
	what      string // the body is
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	switch {
	case b.left < 0 || errors.Is(err, errTooMuch):
		return 0, fault.Field(fault.Invalid, "url", "%s sends more than %d MiB of %s.", b.host, b.max>>20, b.what)
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case isTimeout(err):
		return n, fault.New(fault.UpstreamUnavailable, "%s did not finish its answer in time.", b.host)
	default:
		return n, fault.New(fault.UpstreamUnavailable, "%s broke its answer off.", b.host)
	}
}
