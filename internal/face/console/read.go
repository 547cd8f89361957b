package console

import (
	"net/http"

	"foyer/internal/base/fault"
	"foyer/internal/face/console/markup"
)

// read reads a form of at most limit bytes.
func read(w http.ResponseWriter, r *http.Request, limit int64) error {
	err := markup.ReadForm(w, r, limit)
	if err != nil && !fault.Is(err, fault.Busy) {
		return fault.New(fault.Unparsable, "The form did not arrive as a whole, is larger than %d bytes, or has more than %d fields.", limit, markup.MaxFields)
	}
	return err
}
