package console_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// What scripts/icons makes is what the templates show.
func TestIcons(t *testing.T) {
	t.Parallel()
	defined, shown := map[string]bool{}, map[string]bool{}
	for pattern, found := range map[string]map[string]bool{`{{define "icon ([^"]+)"}}`: defined, `{{template "icon ([^"]+)"}}`: shown} {
		for _, templates := range []string{"markup/templates/*.html", "templates/*.html"} {
			files, err := filepath.Glob(templates)
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
					found[string(match[1])] = true
				}
			}
		}
	}
	if len(defined) == 0 || !maps.Equal(defined, shown) {
		t.Errorf("there are %q, the templates show %q", slices.Sorted(maps.Keys(defined)), slices.Sorted(maps.Keys(shown)))
	}
}
