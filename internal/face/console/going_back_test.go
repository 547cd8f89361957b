package console_test

import (
	"bytes"
	"regexp"
	"testing"
)

// When a user goes back to a page that is fetched anew, browsers restore the ticks and choices of the old page by position:
// another row would be ticked, and what has been switched off since would be on. Texts come back only if they were typed.
func TestChoicesAreNotPutBack(t *testing.T) {
	t.Parallel()
	choices, seen := regexp.MustCompile(`<select\b[^>]*>|<input\b[^>]*\btype="?(checkbox|radio)\b[^>]*>`), 0
	for file, text := range templates(t, "templates/*.html", "*/templates/*.html") {
		for _, choice := range choices.FindAll(text, -1) {
			seen++
			if !bytes.Contains(choice, []byte(` autocomplete="off"`)) {
				t.Errorf(`%s: %s is without autocomplete="off"`, file, choice)
			}
		}
	}
	if seen == 0 {
		t.Error("there are no choices")
	}
}
