package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/base/purpose"
)

const (
	// maxWait is how long a caller waits for a connection.
	maxWait = 10 * time.Second
	// shrinkFor is the pause before new connections are tried again after PostgreSQL had no more.
	shrinkFor = time.Second
)

// ErrNoConnection is the error of Acquire if no connection is free in time.
var ErrNoConnection = errors.New("no connection to the database was free in time")

// slots limits the number of connections. Callers share them by use (see purpose.With): a use gets no more than about
// half of the slots that other uses leave, so that callers that wait for a locked table leave some to the others. A slot
// goes to the user with the fewest.
type slots struct {
	mu      sync.Mutex
	free    int
	shards  []int // the free ones: each transaction needs one
	held    map[use]int
	byUser  map[int64]int // how many slots they hold
	waiting []*waiter     // by their deadlines, so that one for whose slot PostgreSQL had no connection keeps its place
	waited  time.Duration
}

// use is what callers do with a connection.
type use struct {
	purpose string
	inTx    bool
}

// caller is who wants a slot, and for what.
type caller struct {
	use
	user int64 // 0: nobody's work
}

// slot is the right to a connection.
type slot struct {
	caller
	shard int // for a transaction
}

type waiter struct {
	caller
	in    chan slot
	since time.Time
	until time.Time
}

func newSlots(connections, shards int) *slots {
	s := &slots{free: connections, held: map[use]int{}, byUser: map[int64]int{}}
	for shard := range shards {
		s.shards = append(s.shards, shard)
	}
	return s
}

// enter waits for a slot until a deadline.
func (s *slots) enter(ctx context.Context, inTx bool, until time.Time) (slot, error) {
	s.mu.Lock()
	who := caller{use{purpose.Of(ctx), inTx}, inflight.From(ctx).User()}
	if s.may(who.use) {
		defer s.mu.Unlock()
		return s.take(who), nil
	}
	w := &waiter{who, make(chan slot, 1), time.Now(), until}
	place, _ := slices.BinarySearchFunc(s.waiting, until, func(w *waiter, until time.Time) int { return w.until.Compare(until) })
	s.waiting = slices.Insert(s.waiting, place, w)
	s.mu.Unlock()
	ctx, cancel := context.WithDeadlineCause(ctx, until, ErrNoConnection)
	defer cancel()
	select {
	case got := <-w.in:
		return got, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return slot{}, context.Cause(ctx)
	}
	return <-w.in, nil // it got its slot just now
}

// may reports whether a use may have a slot now. The caller of may, take, admit and giveBack holds mu.
func (s *slots) may(u use) bool {
	return s.held[u] < s.free && (!u.inTx || len(s.shards) > 0)
}

func (s *slots) take(c caller) slot {
	taken := slot{caller: c}
	if c.inTx {
		last := len(s.shards) - 1
		taken.shard, s.shards = s.shards[last], s.shards[:last]
	}
	s.free--
	s.held[c.use]++
	if c.user != 0 {
		s.byUser[c.user]++
	}
	return taken
}

// admit gives slots to the waiting callers that may have one.
func (s *slots) admit() {
	for {
		next := -1
		for i, w := range s.waiting {
			if s.may(w.use) && (next < 0 || s.byUser[w.user] < s.byUser[s.waiting[next].user]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		w.in <- s.take(w.caller)
		s.waited += time.Since(w.since)
	}
}

func (s *slots) waits() (now int, all time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), s.waited
}

// leave returns a slot.
func (s *slots) leave(given slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(given)
	s.admit()
}

func (s *slots) giveBack(given slot) {
	if given.inTx {
		s.shards = append(s.shards, given.shard)
	}
	s.free++
	if s.held[given.use]--; s.held[given.use] == 0 {
		delete(s.held, given.use)
	}
	if s.byUser[given.user]--; s.byUser[given.user] <= 0 { // below 0: nobody's work is not counted
		delete(s.byUser, given.user)
	}
}

// shrink returns a slot for which PostgreSQL has no connection. For a while there are only as many slots as connections;
// idle connections are in the pool.
func (s *slots) shrink(given slot, idle int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(given)
	shut := max(s.free-idle, 0)
	s.free -= shut
	s.admit()
	time.AfterFunc(shrinkFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free += shut
		s.admit()
	})
}
