package search_test

import (
	"testing"

	"foyer/internal/base/search"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ＡＰＰ ①": "app 1", "ÉTÉ": "été", "E\u0301te\u0301": "été", "İstanbul": "istanbul", "ΣΊΣΥΦΟΣ": "σίσυφοσ", "Σίσυφος": "σίσυφοσ", "H\u0331asan": "ẖasan", "ẖasan": "ẖasan",
	} {
		if got := search.Fold(in); got != want || search.Fold(got) != got {
			t.Errorf("%q becomes %q and then %q, want %q", in, got, search.Fold(got), want)
		}
	}
}
