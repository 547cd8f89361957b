package wire

import (
	"net/http"

	"foyer/internal/base/inflight"
)

// Holder is the part of a ResponseWriter that knows of the request: it counts the answer
// among what that holds.
type Holder struct {
	Request *inflight.Request
	Change  bool // the request may have made a change: its answer is not refused any more
	Gzip    bool // the client takes it compressed
}

// NewHolder returns that of the answer to a request.
func NewHolder(r *http.Request) Holder {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return Holder{Request: inflight.From(r.Context()), Change: !reads, Gzip: AcceptsGzip(r)}
}

func (h Holder) acceptsGzip() bool { return h.Gzip }

func (h Holder) hold(n int) error {
	if h.Change {
		h.Request.Add(n)
		return nil
	}
	return h.Request.Take(n)
}

// Hold counts n bytes of an answer until the request ends, or fails with a fault of kind
// Busy. A ResponseWriter without a Holder is not counted.
func Hold(w http.ResponseWriter, n int) error {
	if h, ok := w.(interface{ hold(n int) error }); ok {
		return h.hold(n)
	}
	return nil
}
