// Package cache keeps a bounded number of values in memory. A full cache evicts the oldest values first.
package cache

import (
	"container/list"
	"math/rand/v2"
	"sync"
)

// Cache holds values by key, each with the version of its source. The zero Cache is empty, and stores nothing until Max
// is set.
type Cache[K comparable, V any] struct {
	Max  int         // limit for the sum of all sizes
	Size func(V) int // size of one value; nil: each counts as 1

	mu      sync.RWMutex
	entries map[K]*list.Element // of *entry[K, V]
	order   list.List           // the oldest is at the front
	total   int
}

type entry[K comparable, V any] struct {
	key     K
	version int64
	value   V
	size    int
}

// Unversioned is the version of values that need none.
const Unversioned = 0

// VersionStep returns the random amount by which the version of a database row increases. A PostgreSQL failover may lose
// the last commits, and later changes must not reuse the versions that servers remember for lost ones.
func VersionStep() int64 { return 1 + rand.Int64N(1<<24) }

// Get returns the last value stored with this key, if it has this version.
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

// Put stores a value whose version was read before the value, unless the value alone is larger than Max. The value must
// not be changed afterwards.
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

// Delete removes the value stored with this key.
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
