package source

import (
	"testing"

	"foyer/internal/base/fault"
)

func TestReadManifest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[]":                          "source: The app's plugin.json is not a JSON object.",
		"{":                           "source: The app's plugin.json is not a JSON object: unexpected end of JSON input (line 1, column 1).",
		"":                            "source: The app's plugin.json is not a JSON object: unexpected end of JSON input (line 1, column 1).",
		"\ufeff{\r\n\t\"é\": 1,\r\n}": "source: The app's plugin.json is not a JSON object: invalid character '}' looking for beginning of object key string (line 3, column 1).",
		"\n{\"é\": x}":                "source: The app's plugin.json is not a JSON object: invalid character 'x' looking for beginning of value (line 2, column 7).",
		`{"icon": 1}`:                 `source: The app's plugin.json has a "icon" that is not text.`,
	} {
		if _, err := ReadManifest(text, "source"); !fault.Is(err, fault.Invalid) || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
