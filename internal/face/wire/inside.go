package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Inside has an [http.Client] ask a handler of this program in place of a server.
type Inside struct {
	Handler   http.Handler
	RequestID string                                // "": none
	Context   func(context.Context) context.Context // that of a request, with whoever makes it
}

// RoundTrip implements http.RoundTripper.
func (i Inside) RoundTrip(r *http.Request) (*http.Response, error) {
	a := answer{header: http.Header{}, status: http.StatusOK, Holder: NewHolder(r)}
	if i.RequestID != "" {
		a.header["X-Request-Id"] = []string{i.RequestID}
	}
	i.Handler.ServeHTTP(&a, r.Clone(i.Context(r.Context()))) // the handler notes in it what it finds
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r}, nil
}

// answer keeps what a handler writes.
type answer struct {
	Holder
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter. What it keeps is held, as is what is made of it.
func (a *answer) Write(b []byte) (int, error) {
	a.Request.Add(2 * len(b))
	return a.body.Write(b)
}
