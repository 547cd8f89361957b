package loader_test

import (
	"slices"
	"testing"

	"foyer/internal/domain/site/loader"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	for glob, forms := range map[string][]string{
		"/shop/**":    {"/shop/**"},
		"!/größe {1}": {"!/gr%C3%B6%C3%9Fe%20%7B1%7D", "!/gr%c3%b6%c3%9fe%20%7b1%7d"},
		"!/a^b":       {"!/a%5Eb", "!/a%5eb", "!/a^b"}, // the last one in browsers from before 2023
		"/a%5eb":      {"/a%5Eb", "/a%5eb", "/a^b"},
		"/a%7Cb":      {"/a%7Cb", "/a%7cb", "/a|b"},
		"/^|":         {"/%5E%7C", "/%5E|", "/%5e%7c", "/%5e|", "/^|"},
	} {
		if got := loader.Globs(glob); !slices.Equal(got, forms) {
			t.Errorf("%s: %q, want %q", glob, got, forms)
		}
	}
}
