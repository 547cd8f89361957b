// Package lastuse keeps times of last use in memory and stores them from time to time, so that reading costs no write.
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

// Used identifies what was used.
type Used struct {
	ID             int64
	OrganizationID string // where it was used; "": not recorded
}

// Notes holds last uses that are not stored yet. The zero Notes is empty.
type Notes struct {
	mu   sync.Mutex
	last map[Used]time.Time
}

// Note records a use, unless a later one is already recorded.
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

// Flush stores all recorded uses or, if that fails, none: they stay recorded.
func (n *Notes) Flush(ctx context.Context, d *db.DB, write func(ctx context.Context, tx *db.Tx, what Used, at time.Time) error) error {
	last := n.take()
	if len(last) == 0 {
		return nil
	}
	all := slices.SortedFunc(maps.Keys(last), func(a, b Used) int { // a fixed order, or servers would deadlock
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
