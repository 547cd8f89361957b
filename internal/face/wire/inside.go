package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
)

// Inside lets an [http.Client] call a handler of this program instead of a server.
type Inside struct {
	Handler   http.Handler
	RequestID string                                // "": none
	Address   string                                // the client's; "": this machine
	Context   func(context.Context) context.Context // adds the caller to a request's context
}

// RoundTrip implements http.RoundTripper.
func (i Inside) RoundTrip(r *http.Request) (*http.Response, error) {
	a := NewAnswer(r)
	if i.RequestID != "" {
		a.header["X-Request-Id"] = []string{i.RequestID}
	}
	inner := r.Clone(i.Context(r.Context())) // the handler changes it
	if i.Address != "" {
		inner.RemoteAddr = net.JoinHostPort(i.Address, "0")
	}
	i.Handler.ServeHTTP(a, inner)
	return &http.Response{StatusCode: a.Status, Header: a.header, Body: io.NopCloser(&a.Body), Request: r}, nil
}

// Answer keeps what a handler writes.
type Answer struct {
	Holder
	Status int
	Body   bytes.Buffer
	header http.Header
}

// NewAnswer returns an empty answer to a request.
func NewAnswer(r *http.Request) *Answer {
	a := &Answer{Holder: NewHolder(r), Status: http.StatusOK, header: http.Header{}}
	a.Gzip = false // nothing is sent yet
	return a
}

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) { a.Status = status }

// Write implements http.ResponseWriter. It counts the bytes twice, for this copy and for the one that its reader makes.
func (a *Answer) Write(b []byte) (int, error) {
	a.Request.Add(2 * len(b))
	return a.Body.Write(b)
}
