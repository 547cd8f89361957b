package console

import (
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"net/http"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
)

// read reads a form of at most limit bytes.
func read(w http.ResponseWriter, r *http.Request, limit int64) error {
	body := http.MaxBytesReader(w, r.Body, limit)
	r.Body = io.NopCloser(inflight.From(r.Context()).Reader(body))
	err := r.ParseForm()
	if err == nil {
		err = readParts(r)
	}
	if fault.Is(err, fault.Busy) {
		return err
	} else if err != nil {
		return fault.New(fault.Unparsable, "The form did not arrive as a whole, or is larger than %d bytes.", limit)
	}
	return nil
}

// readParts reads the fields of a form that can have files into those of one that has none. A file
// is a field in base64.
func readParts(r *http.Request) error {
	parts, err := r.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return nil
	}
	for err == nil {
		var part *multipart.Part
		if part, err = parts.NextPart(); err != nil {
			break
		}
		var content []byte
		if content, err = io.ReadAll(part); err != nil {
			break
		}
		text := string(content)
		if part.FileName() != "" {
			text = base64.RawURLEncoding.EncodeToString(content)
		}
		r.PostForm.Add(part.FormName(), text)
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
