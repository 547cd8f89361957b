package api

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"foyer/internal/fault"
	"foyer/internal/wire"
)

// Too many files are refused before anything is made of them.
func TestReadTooManyEdits(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{400: true, 401: false} {
		var body strings.Builder
		for i := range n {
			fmt.Fprintf(&body, `,"f%d.md":""`, i)
		}
		r := httptest.NewRequestWithContext(t.Context(), "PATCH", "/", strings.NewReader(`{"source":{`+body.String()[1:]+`}}`))
		r.Header.Set("Content-Type", "application/json")
		o, err := wire.ReadObject(httptest.NewRecorder(), r, wire.MaxSourceBody)
		if err != nil {
			t.Fatal(err)
		}
		edits, err := readEdits(o)
		if fits && (err != nil || len(edits) != n) || !fits && !fault.Is(err, fault.TooLong) {
			t.Errorf("%d files: %d edits, %v", n, len(edits), err)
		}
	}
}
