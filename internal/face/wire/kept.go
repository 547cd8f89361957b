package wire

import (
	"net/http"
	"strconv"

	"foyer/internal/base/compress"
	"foyer/internal/base/fault"
)

// Kept is a text that clients may cache and revalidate by its ETag.
type Kept struct {
	compress.Text
	Tag          string // different for each text
	MediaType    string
	CacheControl string
}

// JavaScript is the media type of scripts. Forever is the Cache-Control of a script whose path names its text.
const (
	JavaScript = "text/javascript; charset=utf-8"
	Forever    = "public, max-age=31536000, immutable"
)

// Write answers a request according to its conditions (RFC 9110 section 13.2.2). Ranges are not served: they are
// optional, and the texts are small.
func (k Kept) Write(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	zipped, body, etag := acceptsGzip(r), k.Plain, `"`+k.Tag+`"`
	if zipped {
		body, etag = k.Compressed, `"`+k.Tag+`-gzip"`
	}
	if wanted := r.Header.Values("If-Match"); len(wanted) > 0 && !names(wanted, etag) {
		return fault.New(fault.PreconditionFailed, "If-Match does not match the current ETag.")
	}
	h.Set("ETag", etag)
	h.Set("Cache-Control", k.CacheControl)
	if names(r.Header.Values("If-None-Match"), etag, "W/"+etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", k.MediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body())))
	if zipped {
		h.Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body()) // fails if the client disconnected
	return nil
}

// ServeHTTP ignores the method: it is for paths that have only GET (see Get).
func (k Kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := k.Write(w, r); err != nil {
		WriteError(w, err)
	}
}
