package plugin

import (
	"slices"
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
)

// Once the diffs are too long, comparing the remaining files costs nothing.
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

// A list of versions does not read their schemas, which are large and not shown; a single version has its schema.
func TestVersionsAreListedWithoutSchemas(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(Draft{Name: patch.Of("app")})
		r.save(p.ID, "site.ts", patch.Of("export function inject() {}"))
		for _, letter := range []string{"a", "b", "c"} {
			r.update(p.ID, Draft{ConfigSchema: patch.Of(`[{"key":"` + strings.Repeat(letter, 200<<10) + `"}]`)})
		}
		found, _, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
		if err != nil || len(found.Items) != 4 {
			r.Fatalf("%d versions, %v", len(found.Items), err)
		}
		if n := len(found.Items[0].Schema); n > 0 {
			r.Errorf("%d bytes of a schema", n)
		}
		if one, err := r.Version(r.Context(), r.caller, p.ID, found.Items[0].Number); err != nil || len(one.Schema) < 200<<10 {
			r.Errorf("a schema of %d bytes, %v", len(one.Schema), err)
		}
	})
}
