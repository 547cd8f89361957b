package http1

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// response is the http.ResponseWriter of a request, used again for the next one. It
// sends what fits into one buffer in one piece, at the end.
type response struct {
	conn     net.Conn
	cancel   context.CancelFunc // of the requests
	stopping *atomic.Bool       // the server is: a response that begins is the last one
	header   http.Header
	names    []string // of header, in order

	status  int
	out     []byte // not sent yet
	head    int    // bytes of the head, where the length of the body is still to be put in
	length  int    // of the body, in bytes; open: what is written until the end
	written int    // bytes of the body
	pieces  net.Buffers
	pair    [2][]byte // memory of pieces
	err     error     // of sending
}

const (
	open       = -1
	bufferSize = 4 << 10
)

func (w *response) init(conn net.Conn, cancel context.CancelFunc, stopping *atomic.Bool) {
	w.conn, w.cancel, w.stopping = conn, cancel, stopping
	w.header, w.out = http.Header{}, make([]byte, 0, bufferSize)
}

// begin makes w the response to the next request.
func (w *response) begin() {
	clear(w.header)
	w.status, w.out, w.written, w.err = 0, w.out[:0], 0, nil
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter, for final statuses.
func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	b := append(w.out, "HTTP/1.1 "...)
	b = append(strconv.AppendInt(b, int64(status), 10), ' ')
	b = append(append(b, http.StatusText(status)...), "\r\n"...)
	b = append(time.Now().UTC().AppendFormat(append(b, "Date: "...), http.TimeFormat), "\r\n"...)
	w.names = slices.AppendSeq(w.names[:0], maps.Keys(w.header))
	slices.Sort(w.names)
	for _, name := range w.names {
		if name == "Content-Length" || name == "Content-Type" && status == http.StatusNotModified { // RFC 9110 section 15.4.5
			continue
		}
		for _, value := range w.header[name] {
			b = appendField(b, name, clean(value))
		}
	}
	if w.stopping.Load() {
		b = appendField(b, "Connection", "close")
	}
	switch w.length = declared(w.header); {
	case !hasBody(status):
		w.length = 0
		b = append(b, "\r\n"...)
	case w.length == open:
		w.head = len(b)
	default:
		b = appendLength(b, w.length)
	}
	w.out = b
}

// declared is the length that a handler set.
func declared(header http.Header) int {
	if values := header["Content-Length"]; len(values) == 1 {
		if n, err := strconv.Atoi(values[0]); err == nil && n >= 0 {
			return n
		}
	}
	return open
}

// hasBody tells the statuses whose responses may have a body (RFC 9110 section 6.4.1).
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

// appendLength appends the end of a head.
func appendLength(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(n), 10)
	return append(b, "\r\n\r\n"...)
}

// clean keeps a value from being taken for more than one line.
func clean(value string) string {
	if strings.IndexByte(value, '\r') < 0 && strings.IndexByte(value, '\n') < 0 { // quicker than ContainsAny
		return value
	}
	return lines.Replace(value)
}

var lines = strings.NewReplacer("\r", " ", "\n", " ")

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if !hasBody(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	w.written += len(p)
	if w.length != open && w.written > w.length {
		return 0, http.ErrContentLength
	}
	if w.length == open || len(p) <= cap(w.out)-len(w.out) {
		w.out = append(w.out, p...)
		return len(p), nil
	}
	return len(p), w.send(p)
}

// send sends what was kept, and p.
func (w *response) send(p []byte) error {
	if w.err == nil {
		w.pieces = append(w.pair[:0], w.out, p)
		if _, w.err = w.pieces.WriteTo(w.conn); w.err != nil {
			w.cancel() // the client has gone
		}
	}
	w.out = w.out[:0]
	return w.err
}

// end sends what is left, and fails if the connection cannot go on.
func (w *response) end() error {
	w.WriteHeader(http.StatusOK)
	if w.length == open {
		w.length = w.written
		w.out = slices.Insert(w.out, w.head, appendLength(nil, w.length)...)
	}
	if w.err == nil && len(w.out) > 0 {
		_, w.err = w.conn.Write(w.out)
	}
	if cap(w.out) > bufferSize { // not kept while nobody asks
		w.out = make([]byte, 0, bufferSize)
	}
	if w.err == nil && w.written != w.length {
		return http.ErrContentLength
	}
	return w.err
}
