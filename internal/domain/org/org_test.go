package org_test

import (
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/domain/org"
)

func TestParseEmail(t *testing.T) {
	t.Parallel()
	if got, err := org.ParseEmail("f", " Ada@BÜCHER.example\t"); err != nil || got != "ada@xn--bcher-kva.example" {
		t.Errorf("got %q, %v", got, err)
	}
	for text, kind := range map[string]fault.Kind{
		"":                                      fault.Blank,
		" ":                                     fault.Blank,
		"a@localhost":                           fault.Invalid,
		strings.Repeat("a", 244) + "@x.example": fault.Invalid, // 254 characters
		strings.Repeat("a", 245) + "@x.example": fault.TooLong,
		// 197 characters, 257 with its domain in ASCII
		strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("ü", 12)+".", 10) + "cc": fault.TooLong,
	} {
		got, err := org.ParseEmail("f", text)
		if !fault.Is(err, kind) || fault.Of(err)[0].Field != "f" {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
