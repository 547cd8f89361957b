package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
)

// Inside has an [http.Client] ask a handler of this program in place of a server.
type Inside struct {
	Handler   http.Handler
	RequestID string                                // "": none
	Address   string                                // where what is asked for comes from; "": this machine
	Context   func(context.Context) context.Context // that of a request, with whoever makes it
}

// RoundTrip implements http.RoundTripper.
func (i Inside) RoundTrip(r *http.Request) (*http.Response, error) {
	a := NewAnswer(r)
	if i.RequestID != "" {
		a.header["X-Request-Id"] = []string{i.RequestID}
	}
	inner := r.Clone(i.Context(r.Context())) // the handler notes in it what it finds
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
	return &Answer{Holder: NewHolder(r), Status: http.StatusOK, header: http.Header{}}
}

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) { a.Status = status }

// Write implements http.ResponseWriter. What it keeps is held, as is what is made of it.
func (a *Answer) Write(b []byte) (int, error) {
	a.Request.Add(2 * len(b))
	return a.Body.Write(b)
}
