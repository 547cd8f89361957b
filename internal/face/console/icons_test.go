package console_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The templates contain what scripts/icons makes.
func TestIcons(t *testing.T) {
	t.Parallel()
	defined, shown := map[string]bool{}, map[string]bool{}
	for pattern, found := range map[string]map[string]bool{`{{define "icon ([^"]+)"}}`: defined, `{{template "icon ([^"]+)"}}`: shown} {
		for _, text := range templates(t, "markup/templates/*.html", "templates/*.html") {
			for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				found[string(match[1])] = true
			}
		}
	}
	if len(defined) == 0 || !maps.Equal(defined, shown) {
		t.Errorf("there are %q, the templates show %q", slices.Sorted(maps.Keys(defined)), slices.Sorted(maps.Keys(shown)))
	}
}

// templates returns the texts of all files that match the patterns. Each pattern must match a file.
func templates(t *testing.T, patterns ...string) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if texts[file], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return texts
}
