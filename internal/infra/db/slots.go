package db

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"foyer/internal/base/purpose"
)

const (
	// maxWait is how long a caller waits for a connection.
	maxWait = 10 * time.Second
	// crowdedFor is how long no more connections are tried once PostgreSQL has no more.
	crowdedFor = time.Second
)

var errNoConnection = errors.New("no connection to the database was free in time")

// slots are the connections there may be. Callers share them by what they are for (purpose.With):
// each such use gets at most as many as are left after it, so that those who wait for a table
// that somebody has locked leave some to the others.
type slots struct {
	mu      sync.Mutex
	free    int
	shards  []int // the free ones: each transaction has one
	held    map[use]int
	waiting []*waiter // in the order they came
	waited  time.Duration
}

// use is what callers do with a connection.
type use struct {
	purpose string
	inTx    bool
}

// slot is the right to a connection.
type slot struct {
	use
	shard int // of a transaction
}

type waiter struct {
	use
	in    chan slot
	since time.Time
}

func newSlots(connections, shards int) *slots {
	p := &slots{free: connections, held: map[use]int{}}
	for shard := range shards {
		p.shards = append(p.shards, shard)
	}
	return p
}

// enter waits for a slot, until a time at most.
func (p *slots) enter(ctx context.Context, inTx bool, until time.Time) (slot, error) {
	p.mu.Lock()
	what := use{purpose.Of(ctx), inTx}
	if p.may(what) {
		defer p.mu.Unlock()
		return p.take(what), nil
	}
	w := &waiter{what, make(chan slot, 1), time.Now()}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	ctx, cancel := context.WithDeadlineCause(ctx, until, errNoConnection)
	defer cancel()
	select {
	case got := <-w.in:
		return got, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, w); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return slot{}, context.Cause(ctx)
	}
	return <-w.in, nil // just now
}

// may reports whether a use may have a slot now. The caller of this and the
// following holds mu.
func (p *slots) may(s use) bool {
	held := p.held[s]
	return p.free > 0 && (held == 0 || held < p.free) && (!s.inTx || len(p.shards) > 0)
}

func (p *slots) take(s use) slot {
	taken := slot{use: s}
	if s.inTx {
		last := len(p.shards) - 1
		taken.shard, p.shards = p.shards[last], p.shards[:last]
	}
	p.free--
	p.held[s]++
	return taken
}

// admit gives slots to those waiting who may have one.
func (p *slots) admit() {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if !p.may(w.use) {
			return false
		}
		w.in <- p.take(w.use)
		p.waited += time.Since(w.since)
		return true
	})
}

func (p *slots) waits() (now int, all time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting), p.waited
}

// leave gives a slot back.
func (p *slots) leave(given slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack(given)
	p.admit()
}

func (p *slots) giveBack(given slot) {
	if given.inTx {
		p.shards = append(p.shards, given.shard)
	}
	p.free++
	if p.held[given.use]--; p.held[given.use] == 0 {
		delete(p.held, given.use)
	}
}

// crowded gives back a slot for which PostgreSQL has no connection. For a while there are
// only as many slots as there are connections; idle ones wait in the pool.
func (p *slots) crowded(given slot, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack(given)
	shut := max(p.free-idle, 0)
	p.free -= shut
	p.admit()
	time.AfterFunc(crowdedFor, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free += shut
		p.admit()
	})
}
