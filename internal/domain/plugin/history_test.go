package plugin

import (
	"slices"
	"strings"
	"testing"
)

// Once the diffs are too long, the files that are left cost nothing.
func TestCompareEndsAtItsLimit(t *testing.T) { // not parallel: it counts allocations
	const lines = 5000
	after := map[string]string{
		"a.md": strings.Repeat(strings.Repeat("a", 999)+"\n", 10),
		"b.md": strings.Repeat("b", maxDiffBytes),
		"c.md": strings.Repeat("c\n", lines),
	}
	var all []FileDiff
	allocated := testing.AllocsPerRun(1, func() {
		var err error
		if all, err = compare(t.Context(), nil, after); err != nil {
			t.Fatal(err)
		}
	})
	want := []FileDiff{
		{"a.md", "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1,10 @@\n" + strings.Repeat("+"+strings.Repeat("a", 999)+"\n", 10)},
		{"b.md", "--- /dev/null\n+++ b/b.md\n@@ -0,0 +1,1 @@\n" + leftOut},
		{"c.md", leftOut},
	}
	if !slices.Equal(all, want) {
		t.Errorf("got %d diffs: %.300q", len(all), all)
	}
	if allocated > lines {
		t.Errorf("%.0f allocations", allocated)
	}
}
