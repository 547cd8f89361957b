package org_test

import (
	"strings"
	"testing"

	"foyer/internal/fault"
	"foyer/internal/org"
)

func TestParseEmail(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a@x.example":                       "a@x.example",
		" A.B+c@X.Example\t":                "a.b+c@x.example",
		"a@bücher.example":                  "a@xn--bcher-kva.example",
		"o'neil!#$%&*/=?^_`{|}~-@x.example": "o'neil!#$%&*/=?^_`{|}~-@x.example",
		strings.Repeat("a", 64) + "@x.co":   strings.Repeat("a", 64) + "@x.co",
	} {
		if got, err := org.ParseEmail("f", text); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for text, kind := range map[string]fault.Kind{
		"": fault.Invalid, "a": fault.Invalid, "@x.example": fault.Invalid, "a@": fault.Invalid, "a@x": fault.Invalid, "a@x.example.": fault.Invalid,
		"a@b@x.example": fault.Invalid, "a b@x.example": fault.Invalid, `"a"@x.example`: fault.Invalid, "<a@x.example>": fault.Invalid,
		"A <a@x.example>": fault.Invalid, "a@x.example, b@x.example": fault.Invalid, "a@[127.0.0.1]": fault.Invalid, "ä@x.example": fault.Invalid,
		"a..b@x.example": fault.Invalid, ".a@x.example": fault.Invalid, "a@x..example": fault.Invalid, "a@-x.example": fault.Invalid, "a@xn--.example": fault.Invalid,
		"a@" + strings.Repeat("x", 64) + ".example": fault.Invalid, strings.Repeat("a", 65) + "@x.example": fault.Invalid, "a\n@x.example": fault.Invalid,
		"a@x.example\r\nBcc: b@x.example": fault.Invalid, "a@x_y.example": fault.Invalid, "a@x.example\u202e": fault.Invalid,
		strings.Repeat("a", 260) + "@x.example": fault.TooLong,
	} {
		got, err := org.ParseEmail("f", text)
		if err == nil || !fault.Is(err, kind) || fault.Of(err)[0].Field != "f" {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

// What is taken once is taken again, unchanged, and could be a header of a mail.
func FuzzParseEmail(f *testing.F) {
	f.Add("a@x.example")
	f.Add("A@BÜCHER.example")
	f.Add("a@x.example\r\nBcc: b@x.example")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := org.ParseEmail("f", text)
		if err != nil {
			if fault.Is(err, fault.Internal) {
				t.Fatal(err)
			}
			return
		}
		if again, err := org.ParseEmail("f", got); err != nil || again != got {
			t.Errorf("%q became %q, then %q, %v", text, got, again, err)
		}
		if len(got) > 254 || strings.ContainsAny(got, "\r\n\x00 <>\"") || strings.Count(got, "@") != 1 {
			t.Errorf("%q became %q", text, got)
		}
	})
}
