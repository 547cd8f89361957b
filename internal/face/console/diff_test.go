package console

import (
	"fmt"
	"strings"
	"testing"

	"foyer/client"
)

// The lines between what differs are folded, with both their numbers.
func TestFoldedContext(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	const diff = "--- a/x\n+++ b/x\n@@ -9,3 +9,4 @@\n line 9\n+new\n line 10\n line 11\n@@ -20,2 +21,1 @@\n line 20\n-line 21\n"
	shape := func(known side) string {
		var all []string
		for _, part := range readDiffs([]client.FileDiff{{Filename: "x", Diff: diff}}, known).Files[0].Parts {
			first, last := diffLine{}, diffLine{}
			if len(part.Lines) > 0 {
				first, last = part.Lines[0], part.Lines[len(part.Lines)-1]
			}
			all = append(all, fmt.Sprintf("%d: %d/%d %s to %d/%d %s", part.Folded, first.Old, first.New, first.Text, last.Old, last.New, last.Text))
		}
		return strings.Join(all, "\n")
	}
	want := `8: 1/1 line 1 to 8/8 line 8
0: 9/9 line 9 to 11/12 line 11
8: 12/13 line 12 to 19/20 line 19
0: 20/21 line 20 to 21/0 line 21
9: 22/22 line 22 to 30/30 line 30`
	if got := shape(side{map[string]string{"x": text.String()}, true}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	after := strings.ReplaceAll(strings.Replace(text.String(), "line 10\n", "new\nline 10\n", 1), "line 21\n", "")
	if got := shape(side{map[string]string{"x": after}, false}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := shape(side{}); strings.Contains(got, "line 12") || !strings.Contains(got, "8: 0/0") {
		t.Errorf("what is not known is shown:\n%s", got)
	}
}
