package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Browsers drop a cookie that is too long: the next page shows only the beginning of a long message.
func TestLongFlash(t *testing.T) {
	t.Parallel()
	c := &Console{secure: true}
	for _, text := range []string{"Done.", strings.Repeat("x", maxFlash), strings.Repeat("x", maxFlash+1), strings.Repeat("ж", maxFlash), "x" + strings.Repeat("ж", maxFlash)} {
		w := httptest.NewRecorder()
		c.setFlash(w, text)
		kept := w.Result().Cookies()[0]
		if size := len(kept.Name) + len(kept.Value); size > 4096 {
			t.Errorf("%.9s…: a cookie of %d bytes", text, size)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.AddCookie(kept)
		got := c.takeFlash(httptest.NewRecorder(), r)
		begun, cut := strings.CutSuffix(got, "…")
		if !strings.HasPrefix(text, begun) || cut != (len(text) > maxFlash) || cut && len(got) < maxFlash-1 {
			t.Errorf("%.9s…: %d bytes of %d are said", text, len(got), len(text))
		}
	}
}
