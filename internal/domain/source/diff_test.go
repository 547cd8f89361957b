package source

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	got, err := Compare(t.Context(),
		map[string]string{"gone.md": "a\n", "same.md": "x", "changed.md": "1\n2\n3\n", "empty.md": "", "old one.md": "c\n", "x y.png": "\x00"},
		map[string]string{"new.md": "b", "same.md": "x", "changed.md": "1\n2\nthree\n", "x y.png": "\x01\x00"},
	)
	if err != nil {
		t.Fatal(err)
	}
	var names, diffs []string
	for _, d := range got {
		names, diffs = append(names, d.Name), append(diffs, d.Diff)
	}
	if got := strings.Join(names, " "); got != "changed.md empty.md gone.md new.md old one.md x y.png" {
		t.Fatal(got)
	}
	for i, want := range []string{
		"--- a/changed.md\n+++ b/changed.md\n@@ -1,3 +1,3 @@\n 1\n 2\n-3\n+three\n",
		"--- a/empty.md\n+++ /dev/null\n",
		"--- a/gone.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n",
		"--- /dev/null\n+++ b/new.md\n@@ -0,0 +1,1 @@\n+b\n\\ No newline at end of file\n",
		"--- a/old one.md\t\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-c\n",
		"Binary files a/x y.png and b/x y.png differ\n",
	} {
		if diffs[i] != want {
			t.Errorf("%q, want %q", diffs[i], want)
		}
	}
}

// The longest files are compared in bounded time and space.
func TestCompareLong(t *testing.T) {
	t.Parallel()
	before, after := map[string]string{}, map[string]string{}
	for _, name := range []string{"a", "b", "c", "d"} {
		before[name] = strings.Repeat("x\ny\n", MaxFileBytes/4)
		after[name] = strings.Repeat("y\nx\nz\n", MaxFileBytes/6)
	}
	total := 0
	diffs, err := Compare(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diffs {
		total += len(d.Diff)
		if !strings.HasSuffix(d.Diff, "\n") {
			t.Errorf("%s is cut inside a line", d.Name)
		}
	}
	if total > maxDiffBytes+1000 {
		t.Errorf("%d bytes", total)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := Compare(gone, before, after); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone gets %v", err)
	}
}

// Once the diffs are too long, comparing the remaining files costs nothing.
func TestCompareEndsAtItsLimit(t *testing.T) { // not parallel: it counts allocations
	const lines = 5000
	after := map[string]string{
		"a.md": strings.Repeat(strings.Repeat("a", 999)+"\n", 10),
		"b.md": strings.Repeat("b", maxDiffBytes),
		"c.md": strings.Repeat("c\n", lines),
	}
	var all []Diff
	allocated := testing.AllocsPerRun(1, func() {
		var err error
		if all, err = Compare(t.Context(), nil, after); err != nil {
			t.Fatal(err)
		}
	})
	want := []Diff{
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
