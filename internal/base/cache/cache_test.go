package cache_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"foyer/internal/base/cache"
)

func TestCache(t *testing.T) {
	t.Parallel()
	c := cache.Cache[string, string]{Max: 10, Size: func(s string) int { return len(s) }}
	get := func(key string, version int64, want string) {
		t.Helper()
		if got, ok := c.Get(key, version); got != want || ok != (want != "") {
			t.Errorf("%s %d: got %q, %t; want %q", key, version, got, ok, want)
		}
	}
	get("a", 1, "")
	c.Put("a", 1, "12345")
	get("a", 1, "12345")
	get("a", 2, "")
	c.Put("a", 2, "54321")
	get("a", 1, "")
	c.Put("b", 1, "12345") // ten bytes: there is room
	get("a", 2, "54321")
	get("b", 1, "12345")
	c.Put("c", 1, "1") // one too many: the oldest goes
	get("a", 2, "")
	get("b", 1, "12345")
	get("c", 1, "1")
	c.Put("b", 2, "1") // is the youngest now
	c.Put("d", 1, "123456789")
	get("c", 1, "")
	get("b", 2, "1")
	c.Put("e", 1, strings.Repeat("1", 11)) // never fits, and evicts nothing
	get("e", 1, "")
	get("d", 1, "123456789")
	c.Delete("d")
	c.Delete("d")
	get("d", 1, "")
}

// In any use, the cache holds at most Max, and the values stored last.
func TestBounded(t *testing.T) {
	t.Parallel()
	c := cache.Cache[int, int]{Max: 100}
	for range 10_000 {
		key := rand.IntN(300)
		c.Put(key, cache.Unversioned, key)
		if got, ok := c.Get(key, cache.Unversioned); !ok || got != key {
			t.Fatalf("%d: got %d, %t", key, got, ok)
		}
	}
	there := 0
	for key := range 300 {
		if _, ok := c.Get(key, cache.Unversioned); ok {
			there++
		}
	}
	if there != 100 {
		t.Errorf("%d values are there", there)
	}
}
