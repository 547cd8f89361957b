package markup

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// MaxFields is how many fields a form has at most: net/url parses no more of a form without files.
const MaxFields = 10_000

// ReadForm reads a form of at most limit bytes, or none of it. If there is no room for it, it fails with a fault of kind
// Busy once the rest has arrived: net/http would wait for that, too, but with the page about the fault in memory.
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	r.Body = io.NopCloser(wire.Body(w, r, limit))
	err := r.ParseForm()
	if err == nil {
		err = readParts(r)
	}
	if err != nil {
		r.PostForm = nil // a part of a form says something else
	}
	if fault.Is(err, fault.Busy) {
		wire.Discard(r)
	}
	return err
}

// readParts adds the fields of a multipart form to those of a plain one. A file becomes a field in base64.
func readParts(r *http.Request) error {
	parts, err := r.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return nil
	}
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) { // a form that does not arrive as a whole has another error
			return nil
		}
		if err != nil {
			return err
		}
		if n == MaxFields {
			return errors.New("too many fields")
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		text := string(content)
		if part.FileName() != "" {
			text = base64.RawURLEncoding.EncodeToString(content)
		}
		r.PostForm.Add(part.FormName(), text)
	}
}
