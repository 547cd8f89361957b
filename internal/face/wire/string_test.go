package wire_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"foyer/internal/face/wire"
)

// AppendString quotes a text as jsontext does, whether or not it needs escapes.
func TestAppendString(t *testing.T) {
	t.Parallel()
	for first := range 256 {
		for _, rest := range []string{"", "a", "\xa9", `"`} {
			text := string([]byte{byte(first)}) + rest
			want, _ := jsontext.AppendQuote(nil, text) // an error means that it is not UTF-8
			if got := wire.AppendString(nil, text); string(got) != string(want) {
				t.Errorf("%q: %s, not %s", text, got, want)
			}
		}
	}
}
