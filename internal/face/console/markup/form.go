package markup

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// MaxFields is how many fields a form has at most: net/url takes no more of one that has no files.
const MaxFields = 10_000

// ReadForm reads a form of at most limit bytes. Where there is no room for it, it fails with a fault of kind Busy, once the
// rest has come: net/http waits for that, too, but with the page that tells of the fault in memory.
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) error {
	r.Body = io.NopCloser(wire.Body(w, r, limit))
	err := r.ParseForm()
	if err == nil {
		err = readParts(r)
	}
	if fault.Is(err, fault.Busy) {
		r.PostForm = nil
		wire.Discard(r)
	}
	return err
}

// readParts reads the fields of a form that can have files into those of one that has none. A file
// is a field in base64.
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
		if errors.Is(err, io.EOF) { // of one that does not arrive as a whole, the error is another
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
