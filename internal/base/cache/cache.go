// Package cache keeps a bounded number of values in memory. When it is full, those
// that were put first go.
package cache

import (
	"container/list"
	"math/rand/v2"
	"sync"
)

// Cache holds values by key, each with the version of what it was made from. The zero
// Cache is empty, and useless until Max is set.
type Cache[K comparable, V any] struct {
	Max  int         // of the sizes of all values together
	Size func(V) int // of one value; nil: each is 1

	mu      sync.RWMutex
	entries map[K]*list.Element // of *entry[K, V]
	order   list.List           // the one put first is at the front
	total   int
}

type entry[K comparable, V any] struct {
	key     K
	version int64
	value   V
	size    int
}

// Unversioned is the version of what needs none.
const Unversioned = 0

// VersionStep is how much the version of something in a database counts up by, a random number: a
// PostgreSQL that fails over may lose its last commits, and later changes must not get the
// versions that servers remember of what was lost.
func VersionStep() int64 { return 1 + rand.Int64N(1<<24) }

// Get returns the value that was put last with this key, if it has this version.
func (c *Cache[K, V]) Get(key K, version int64) (value V, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e, found := c.entries[key]; found {
		if kept := e.Value.(*entry[K, V]); kept.version == version {
			return kept.value, true
		}
	}
	return value, false
}

// Put keeps a value that was read after its version, unless it alone is more than Max.
// The value must not be changed afterwards.
func (c *Cache[K, V]) Put(key K, version int64, value V) {
	size := 1
	if c.Size != nil {
		size = c.Size(value)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.entries[key])
	if size > c.Max {
		return
	}
	for c.total+size > c.Max {
		c.remove(c.order.Front())
	}
	if c.entries == nil {
		c.entries = map[K]*list.Element{}
	}
	c.entries[key] = c.order.PushBack(&entry[K, V]{key, version, value, size})
	c.total += size
}

// Delete removes what was put with this key.
func (c *Cache[K, V]) Delete(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.entries[key])
}

func (c *Cache[K, V]) remove(e *list.Element) {
	if e == nil {
		return
	}
	removed := c.order.Remove(e).(*entry[K, V])
	delete(c.entries, removed.key)
	c.total -= removed.size
}
