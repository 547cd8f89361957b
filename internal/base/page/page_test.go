package page_test

import (
	"strings"
	"testing"

	"foyer/internal/base/page"
)

// There are more items after a page only if one was read, or counted, that is not on it. No page leads to itself.
func TestMore(t *testing.T) {
	t.Parallel()
	name := func(s string) string { return "after " + s }
	for _, tc := range []struct {
		read    string
		shown   string
		last    string
		more    bool
		counted bool // there are more of a list of three, from its second item
	}{
		{"", "", "", false, false},
		{"a", "a", "after a", false, true},
		{"a b", "a b", "after b", false, false},
		{"a b c", "a b", "after b", true, false},
	} {
		read := strings.Fields(tc.read)
		found := page.Cut(read, page.Page{Limit: 2}, 9, name)
		if strings.Join(found.Items, " ") != tc.shown || found.Last != tc.last || found.More != tc.more || found.Count != 9 {
			t.Errorf("%q: %+v", tc.read, found)
		}
		if found := page.Counted(read, page.Page{Offset: 1}, 3); found.More != tc.counted || found.Count != 3 || len(found.Items) != len(read) {
			t.Errorf("%q, counted: %+v", tc.read, found)
		}
	}
}
