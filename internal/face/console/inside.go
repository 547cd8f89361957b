package console

import (
	"bytes"
	"io"
	"net/http"

	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// inside asks the API of this program on behalf of a request for a page, whose id and session it
// passes on.
type inside struct {
	api     http.Handler
	id      string
	session string // that it acts as
}

// RoundTrip implements http.RoundTripper.
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	a := answer{header: http.Header{"X-Request-Id": {i.id}}, status: http.StatusOK, Holder: wire.NewHolder(r)}
	i.api.ServeHTTP(&a, r.Clone(access.WithSession(r.Context(), i.session))) // the API notes in it what it finds
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r}, nil
}

// answer keeps what a handler writes.
type answer struct {
	wire.Holder
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter. What it keeps is held, as is what the page makes of it.
func (a *answer) Write(b []byte) (int, error) {
	a.Request.Add(2 * len(b))
	return a.body.Write(b)
}
