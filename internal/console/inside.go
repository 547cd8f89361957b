package console

import (
	"bytes"
	"io"
	"net/http"
)

// inside asks the API of this program on behalf of a request for a page, whose id it passes on.
type inside struct {
	api http.Handler
	id  string
}

// RoundTrip implements http.RoundTripper.
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	a := answer{header: http.Header{"X-Request-Id": {i.id}}, status: http.StatusOK}
	i.api.ServeHTTP(&a, r.Clone(r.Context())) // the API notes in it what it finds
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r}, nil
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
