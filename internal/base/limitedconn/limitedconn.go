// Package limitedconn limits how many bytes are read from a network connection, whatever library reads them.
package limitedconn

import (
	"net"
	"sync/atomic"
)

// Conn is a connection whose reads fail after a number of bytes.
type Conn struct {
	net.Conn
	left    atomic.Int64
	tooMuch error
}

// New returns a connection that allows reading most bytes, and fails with tooMuch after that.
func New(conn net.Conn, most int64, tooMuch error) *Conn {
	c := &Conn{Conn: conn, tooMuch: tooMuch}
	c.Renew(most)
	return c
}

// Renew allows reading most bytes from now on.
func (c *Conn) Renew(most int64) { c.left.Store(most) }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		return 0, c.tooMuch
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), left)])
	c.left.Add(-int64(n))
	return n, err
}
