// Package fair shares places among those for whom work is done, so that nobody's work
// holds up that of the others.
package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrFull means that too many wait, or too many for the same one.
var ErrFull = errors.New("too many are waiting")

// Queue bounds how much is done at once, and how much waits. A place that becomes free
// goes to the one who has the fewest; equals take turns.
type Queue struct {
	places int
	room   int // for waiting

	mu      sync.Mutex
	free    int            // of the places
	inside  map[string]int // how many places each has
	waiting []*caller      // in the order of their turns
}

type caller struct {
	whom string
	in   chan struct{} // closed when it has a place
}

// New returns a queue of so many places, with room for so many to wait; at most half of
// that is for the same one.
func New(places, room int) *Queue {
	return &Queue{places: places, room: room, free: places, inside: map[string]int{}}
}

// Enter waits for a place to do something for whom; leave gives it back. The error is
// ErrFull or that of ctx.
func (q *Queue) Enter(ctx context.Context, whom string) (leave func(), err error) {
	c := &caller{whom: whom, in: make(chan struct{})}
	if err := q.join(c); err != nil {
		return nil, err
	}
	select {
	case <-c.in:
		return func() { q.leave(whom) }, nil
	case <-ctx.Done():
		q.withdraw(c)
		return nil, ctx.Err()
	}
}

// Waiting is how many wait now.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Inside is how many have a place now.
func (q *Queue) Inside() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.places - q.free
}

func (q *Queue) join(c *caller) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 { // so nobody waits
		q.admit(c)
		return nil
	}
	same := 0
	for _, other := range q.waiting {
		if other.whom == c.whom {
			same++
		}
	}
	if len(q.waiting) >= q.room || same >= max(1, q.room/2) {
		return ErrFull
	}
	q.waiting = append(q.waiting, c)
	return nil
}

// admit gives a caller one of the free places.
func (q *Queue) admit(c *caller) {
	q.free--
	q.inside[c.whom]++
	close(c.in)
}

func (q *Queue) leave(whom string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	if q.inside[whom]--; q.inside[whom] == 0 {
		delete(q.inside, whom)
	}
	if len(q.waiting) == 0 {
		return
	}
	next := 0
	for i, c := range q.waiting {
		if q.inside[c.whom] < q.inside[q.waiting[next].whom] {
			next = i
		}
	}
	c := q.waiting[next]
	q.waiting = slices.Delete(q.waiting, next, next+1)
	q.putBehind(c.whom)
	q.admit(c)
}

// putBehind puts those of one behind all others, in the order they came.
func (q *Queue) putBehind(whom string) {
	var behind []*caller
	q.waiting = slices.DeleteFunc(q.waiting, func(c *caller) bool {
		if c.whom == whom {
			behind = append(behind, c)
		}
		return c.whom == whom
	})
	q.waiting = append(q.waiting, behind...)
}

// withdraw removes a caller that no longer waits; it may have got its place just now.
func (q *Queue) withdraw(c *caller) {
	q.mu.Lock()
	i := slices.Index(q.waiting, c)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.leave(c.whom)
	}
}
