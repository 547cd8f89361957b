package markup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
)

// A form without room is read to its end before the answer, and nothing of it is held.
func TestRefusedFormIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const size = 200 << 10
	limit := inflight.New(size)
	other, holds := limit.Begin(nil), limit.Begin(nil)
	if err := other.Take(1); err != nil {
		t.Fatal(err)
	}
	before := limit.Held()
	body := strings.NewReader("a=" + strings.Repeat("x", size))
	r := httptest.NewRequestWithContext(inflight.With(t.Context(), holds), http.MethodPost, "/", io.NopCloser(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if err := ReadForm(httptest.NewRecorder(), r, 2*size); !fault.Is(err, fault.Busy) {
		t.Errorf("got %v, want a fault of kind Busy", err)
	}
	if body.Len() != 0 || len(r.PostForm) != 0 || limit.Held() != before {
		t.Errorf("%d bytes are not read, %d fields are, and %d bytes are held", body.Len(), len(r.PostForm), limit.Held()-before)
	}
}
