package cache_test

import (
	"strings"
	"testing"

	"foyer/internal/cache"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := cache.Cache[string, string]{MaxBytes: 410, Size: func(s string) int { return len(s) }}
	get := func(key string, version int64, want string) {
		t.Helper()
		if got, ok := c.Get(key, version); got != want && ok || ok != (want != "") {
			t.Errorf("%s %d: got %q, %t; want %q", key, version, got, ok, want)
		}
	}
	get("a", 1, "")
	c.Put("a", 1, "12345")
	get("a", 1, "12345")
	get("a", 2, "")
	c.Put("a", 2, "54321")
	get("a", 1, "")
	get("a", 2, "54321")
	c.Put("b", 1, "12345") // ten bytes: there is room
	get("a", 2, "54321")
	get("b", 1, "12345")
	c.Put("c", 1, "1") // one too many
	get("a", 2, "")
	get("c", 1, "1")
	if got, version, ok := c.Last("c"); got != "1" || version != 1 || !ok {
		t.Errorf("c: got %q, %d, %t", got, version, ok)
	}
	if _, _, ok := c.Last("a"); ok {
		t.Error("a is still there")
	}
	c.Put("d", 1, strings.Repeat("1", 411)) // never fits, and takes nothing's place
	get("d", 1, "")
	get("c", 1, "1")
}
