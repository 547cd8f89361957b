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

// Used is what was used.
type Used struct {
	ID             int64
	OrganizationID string // where; "": that is not noted
}

// Notes are of last uses that are not written down yet. The zero Notes are empty.
type Notes struct {
	mu   sync.Mutex
	last map[Used]time.Time
}

// Note notes a use, unless a later one is noted already.
func (n *Notes) Note(what Used, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[Used]time.Time{}
	}
	if n.last[what].Before(at) {
		n.last[what] = at
	}
}

// Flush writes down what is noted, all of it or nothing: then it stays noted.
func (n *Notes) Flush(ctx context.Context, d *db.DB, write func(ctx context.Context, tx *db.Tx, what Used, at time.Time) error) error {
	last := n.take()
	if len(last) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Keys(last), func(a, b Used) int { // in one order, or servers would lock each other out
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.OrganizationID, b.OrganizationID))
	})
	err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, what := range all {
			if err := write(ctx, tx, what, last[what]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for what, at := range last {
			n.Note(what, at)
		}
	}
	return err
}

func (n *Notes) take() map[Used]time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.last
	n.last = nil
	return last
}
