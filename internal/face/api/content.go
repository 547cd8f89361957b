package api

import (
	"net/http"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// content is what clients may keep, and ask about again by its tag.
type content struct {
	body         []byte
	tag          string // different for each body
	mediaType    string
	coding       string // "": none
	cacheControl string
}

// write answers under the conditions of a request (RFC 9110 section 13.2.2). Ranges
// are not served: they are optional, and bodies are small.
func (c content) write(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	etag := `"` + c.tag + `"`
	if wanted := r.Header.Values("If-Match"); len(wanted) > 0 && !wire.Names(wanted, etag) {
		return fault.New(fault.PreconditionFailed, "If-Match does not name what is here.")
	}
	h.Set("ETag", etag)
	h.Set("Cache-Control", c.cacheControl)
	if wire.Names(r.Header.Values("If-None-Match"), etag, "W/"+etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", c.mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(c.body)))
	if c.coding != "" {
		h.Set("Content-Encoding", c.coding)
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(c.body) // fails if the client has gone
	return nil
}
