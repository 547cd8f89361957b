// Package lastuse notes in memory when things were used last, and writes it down once in a
// while: so reading costs no write.
package lastuse

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"foyer/internal/infra/db"
)

// Notes are of last uses that are not written down yet, by id. The zero Notes are empty.
type Notes[ID cmp.Ordered] struct {
	mu   sync.Mutex
	last map[ID]time.Time
}

// Note notes a use, unless a later one is noted already.
func (n *Notes[ID]) Note(id ID, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[ID]time.Time{}
	}
	if n.last[id].Before(at) {
		n.last[id] = at
	}
}

// Flush writes down what is noted, all of it or nothing: then it stays noted.
func (n *Notes[ID]) Flush(ctx context.Context, d *db.DB, write func(ctx context.Context, tx *db.Tx, id ID, at time.Time) error) error {
	last := n.take()
	if len(last) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(last)) // in one order, or servers would lock each other out
	err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, id := range ids {
			if err := write(ctx, tx, id, last[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for id, at := range last {
			n.Note(id, at)
		}
	}
	return err
}

func (n *Notes[ID]) take() map[ID]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.last
	n.last = nil
	return last
}
