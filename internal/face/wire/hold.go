package wire

import (
	"net/http"

	"foyer/internal/base/inflight"
)

// Holder is the part of a ResponseWriter that knows the request: it counts the answer towards the memory that the
// request holds, and notes the error code if the request is refused.
type Holder struct {
	Request *inflight.Request
	Change  bool   // the request may have made a change: its answer is no longer refused
	Gzip    bool   // the client takes it compressed
	Code    string // of the first error, if the answer is an error

	noneMatch []string // If-None-Match of a GET or HEAD
}

// NewHolder returns the Holder for the answer to a request.
func NewHolder(r *http.Request) Holder {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	h := Holder{Request: inflight.From(r.Context()), Change: !reads, Gzip: acceptsGzip(r)}
	if reads {
		h.noneMatch = r.Header["If-None-Match"]
	}
	return h
}

func (h *Holder) holder() *Holder { return h }

// holderOf returns the Holder of an answer, or one without a limit if it has none.
func holderOf(w http.ResponseWriter) *Holder {
	if of, ok := w.(interface{ holder() *Holder }); ok {
		return of.holder()
	}
	return &Holder{}
}

// has reports whether the client already has the state that an ETag names.
func (h *Holder) has(etag ETag) bool { return h.noneMatch != nil && etag.In(h.noneMatch, true) }

// Hold counts n bytes of an answer until the request ends, or fails with a fault of kind Busy. An answer whose
// ResponseWriter has no Holder is not counted.
func Hold(w http.ResponseWriter, n int) error {
	h := holderOf(w)
	if h.Change {
		h.Request.Add(n)
		return nil
	}
	return h.Request.Take(n)
}
