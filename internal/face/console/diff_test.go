package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"foyer/client"
)

// Unchanged lines between differences are folded, with both their numbers.
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

// An empty file has no unchanged lines. Line ends are shown where only they differ.
func TestDiffOfLineEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		diff, text string
		before     bool
		want       []string
	}{
		{"@@ -0,0 +1,1 @@\n+a\n", "", true, []string{"added a"}},
		{"@@ -1,1 +0,0 @@\n-a\n", "", false, []string{"removed a"}},
		{"@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n", "a\nb\n", true, []string{" a", "removed b", "added b<U+000D>"}},
		{"@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", "a\r\nb\r\n", true, []string{" a\r", "removed b\r", "added c\r"}},
	} {
		diffs := []client.FileDiff{{Filename: "x", Diff: "--- a/x\n+++ b/x\n" + tc.diff}}
		var got []string
		for _, part := range readDiffs(diffs, side{map[string]string{"x": tc.text}, tc.before}).Files[0].Parts {
			if part.Folded > 0 {
				got = append(got, fmt.Sprint(part.Folded, " are the same"))
			}
			for _, line := range part.Lines {
				got = append(got, line.Class+" "+line.Text)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.diff, got, tc.want)
		}
	}
}
