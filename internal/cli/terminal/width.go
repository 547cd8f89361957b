package terminal

import (
	"unicode"

	"golang.org/x/text/width"
)

// cells returns how many cells of a terminal a text takes.
func cells(text string) (n int) {
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) { // it combines with the one before, or is a joiner
		return 0
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// cut shortens a text to the cells that it has room for.
func cut(text string, room int) string {
	if cells(text) <= room {
		return text
	}
	n := cells("…")
	for i, r := range text {
		if n += cellsOf(r); n > room {
			return text[:i] + "…"
		}
	}
	return text
}
