package patch_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"foyer/internal/base/patch"
)

func TestApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field patch.Field[string]
		want  string
	}{
		"absent": {patch.Field[string]{}, "before"}, "null": {patch.Field[string]{Set: true, Null: true}, ""}, "a value": {patch.Of("after"), "after"},
	} {
		got := "before"
		if c.field.Apply(&got); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestBlank(t *testing.T) {
	t.Parallel()
	for text, blank := range map[string]bool{
		"": true, " \t\u00a0": true, "\u200b": true, "\u2060\u00ad\ufeff": true, "\u3164": true, "\u202e": true, "\ufe0f\U000e0100\u180b\u2800": true, "\ufffd": true, "\xff\xfe": true,
		"a": false, "a\ufffd": false, "\u200bä": false, "漢": false, "👩\u200d🚀": false, "-": false, "7": false,
	} {
		if patch.Blank(text) != blank {
			t.Errorf("%q: blank is %t", text, !blank)
		}
	}
}

func TestLongestText(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{200: true, 201: false} {
		if err := patch.RequiredText("name", patch.Of(strings.Repeat("é", n)), 200); (err == nil) != fits {
			t.Errorf("%d characters: %v", n, err)
		}
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	const text = `{"a\"\\/é":["😀\n<",1.50,{}]}`
	for other, same := range map[string]bool{
		text: true, `{"\u0061\u0022\u005c\/\u00E9":["\ud83d\ude00\u000a\u003c",1.50,{}]}`: true,
		`{"a\"\\/é":["😀\n<",1.5,{}]}`: false, `{"a\"\\/e":["😀\n<",1.50,{}]}`: false, `{"a\"\\/é":["😀\n<",1.50,{}],"b":1}`: false, "": false,
	} {
		if patch.SameJSON(text, other) != same || patch.SameJSON(other, text) != same {
			t.Errorf("%s and %s: same is %t", text, other, !same)
		}
	}
	if !patch.SameJSON(`"\b\f\n\r\t"`, `"\u0008\u000c\u000a\u000d\u0009"`) || patch.SameJSON(`"\b"`, `"b"`) {
		t.Error("short escapes do not count as what they stand for")
	}
	if patch.SameJSON(`"\ud800abcdef"`, `"\ud800ghijkl"`) {
		t.Error("what follows half of a pair does not count")
	}
	if patch.SameJSON(`["a","b"]`, `["a\",\"b"]`) {
		t.Error("quotes in a string and around one are the same")
	}
}

// A text is the same however it is escaped, and no other text is.
func FuzzSameJSON(f *testing.F) {
	f.Add(`{"a\"\\/é":["\ud83d\ude00<",1.50,{}]}`)
	f.Add(`["\ud800&"]`)
	f.Fuzz(func(t *testing.T, text string) {
		if patch.SameJSON(text, text+"1") {
			t.Errorf("%q and more are the same", text)
		}
		var compact, escaped bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil {
			return
		}
		json.HTMLEscape(&escaped, compact.Bytes())
		if !patch.SameJSON(compact.String(), escaped.String()) {
			t.Errorf("%s and %s are not the same", &compact, &escaped)
		}
	})
}
