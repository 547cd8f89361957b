// Package cache keeps in memory what was read, for as long as the database says
// that its version is still the same.
package cache

import "sync"

// Cache holds values by key. The zero Cache is empty, and useless until MaxBytes
// and Size are set.
type Cache[K comparable, V any] struct {
	MaxBytes int           // of all values together
	Size     func(v V) int // about how many bytes a value takes

	mu      sync.RWMutex
	entries map[K]entry[V]
	bytes   int
}

type entry[V any] struct {
	version int64
	value   V
}

// Get returns the value that was put with this key and version.
func (c *Cache[K, V]) Get(key K, version int64) (V, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, ok && e.version == version
}

// Last returns the value that was put last with this key, and its version.
func (c *Cache[K, V]) Last(key K) (value V, version int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[key]
	return e.value, e.version, ok
}

// overhead is about how many bytes an entry takes besides its value.
const overhead = 200

// Put keeps a value that was read after its version, unless it alone is more than
// MaxBytes. The value must not be changed afterwards. When there is no room,
// everything kept before goes.
func (c *Cache[K, V]) Put(key K, version int64, value V) {
	size := c.Size(value) + overhead
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[key]; ok {
		c.bytes -= c.Size(old.value) + overhead
		delete(c.entries, key)
	}
	if size > c.MaxBytes {
		return
	}
	if c.entries == nil || c.bytes+size > c.MaxBytes {
		c.entries, c.bytes = map[K]entry[V]{}, 0
	}
	c.entries[key] = entry[V]{version, value}
	c.bytes += size
}
