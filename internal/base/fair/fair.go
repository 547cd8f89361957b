// Package fair queues work: tenants share a bounded number of slots, so that the work of one tenant does not hold up the
// others.
package fair

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"foyer/internal/base/fault"
)

const (
	// maxWait is how long a caller waits: longer than the lifetime of a child process.
	maxWait = time.Minute
	// retryAfter is when callers who found no slot should try again.
	retryAfter = 5 * time.Second
	// halfLife is the time after which half of a tenant's past use is forgotten.
	halfLife = 30 * time.Second
)

// Queue limits how many callers have a slot, and how many wait, in total and for each tenant. A free slot goes to the
// tenant with the fewest slots; among those, to the one that has used slots least lately; equal tenants take turns.
type Queue struct {
	slots, share    int    // in total, and for one tenant
	room, roomShare int    // for waiting callers
	full            string // error text for a caller who finds no slot

	mu      sync.Mutex
	free    int // free slots
	tenants map[string]*tenant
	waiting []*caller // in the order of their turns
}

// tenant is the state of a tenant that has a slot or had one lately.
type tenant struct {
	inside int           // number of slots it has
	used   time.Duration // how long it has had slots, as of at
	at     time.Time
}

type caller struct {
	tenant string
	in     chan struct{} // closed when it gets a slot
}

// New returns a queue with so many slots, and room for so many waiting callers. One tenant gets at most half of each, but
// at least one. full is a clause that says that there is no slot.
func New(slots, room int, full string) *Queue {
	return &Queue{
		slots: slots, share: max(1, slots/2), room: room, roomShare: max(1, room/2), full: full,
		free: slots, tenants: map[string]*tenant{},
	}
}

// OneEach returns a queue in which each tenant has one slot, and room for so many more waiting callers. Tenants do not
// wait for each other.
func OneEach(room int, full string) *Queue {
	return &Queue{
		slots: math.MaxInt, share: 1, room: math.MaxInt, roomShare: room, full: full,
		free: math.MaxInt, tenants: map[string]*tenant{},
	}
}

// Enter waits for a slot for a tenant, for at most a minute; leave releases the slot. The error is a fault of kind Busy,
// or the error of ctx.
func (q *Queue) Enter(ctx context.Context, tenant string) (leave func(), err error) {
	c := &caller{tenant: tenant, in: make(chan struct{})}
	if !q.join(c) {
		return nil, q.busy()
	}
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	select {
	case <-c.in:
		began := time.Now() //nolint:forbidigo // it measures how long a slot is held
		return func() { q.leave(tenant, time.Since(began)) }, nil
	case <-patience.C:
		q.withdraw(c)
		return nil, q.busy()
	case <-ctx.Done():
		q.withdraw(c)
		return nil, ctx.Err()
	}
}

func (q *Queue) busy() error {
	return fault.Later(fault.Busy, retryAfter, "%s; try again in a few seconds.", q.full)
}

// Waiting returns the number of callers that wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// Inside returns the number of callers that have a slot.
func (q *Queue) Inside() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.slots - q.free
}

// join admits a caller or makes it wait; false: there is no room to wait.
func (q *Queue) join(c *caller) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 && q.mayHave(c.tenant) { // no waiting caller could take this slot
		q.admit(c)
		return true
	}
	same := 0
	for _, other := range q.waiting {
		if other.tenant == c.tenant {
			same++
		}
	}
	if len(q.waiting) >= q.room || same >= q.roomShare {
		return false
	}
	q.waiting = append(q.waiting, c)
	return true
}

// mayHave reports whether a tenant may have another slot.
func (q *Queue) mayHave(name string) bool { return q.of(name).inside < q.share }

// of returns the state of a tenant.
func (q *Queue) of(name string) tenant {
	if t := q.tenants[name]; t != nil {
		return *t
	}
	return tenant{}
}

// admit gives a caller one of the free slots.
func (q *Queue) admit(c *caller) {
	q.free--
	if q.tenants[c.tenant] == nil {
		q.tenants[c.tenant] = &tenant{}
	}
	q.tenants[c.tenant].inside++
	close(c.in)
}

func (q *Queue) leave(name string, used time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	now := time.Now() //nolint:forbidigo // it measures how long ago slots were used
	t := q.tenants[name]
	t.inside--
	t.used, t.at = t.lately(now)+used, now
	q.forget(now)
	q.admitNext(now) // and no more: whoever waited beside a free slot already had its share
}

// lately returns how long a tenant has had slots; past use counts less the older it is.
func (t *tenant) lately(now time.Time) time.Duration {
	return time.Duration(float64(t.used) * math.Exp2(-float64(now.Sub(t.at))/float64(halfLife)))
}

// forget drops tenants that have no slots and have hardly used any lately.
func (q *Queue) forget(now time.Time) {
	for name, t := range q.tenants {
		if t.inside == 0 && t.lately(now) < time.Millisecond {
			delete(q.tenants, name)
		}
	}
}

// admitNext admits the next waiting caller that may have a slot, if there is one.
func (q *Queue) admitNext(now time.Time) {
	next := -1
	for i, c := range q.waiting {
		if q.mayHave(c.tenant) && (next < 0 || q.before(c.tenant, q.waiting[next].tenant, now)) {
			next = i
		}
	}
	if next < 0 {
		return
	}
	c := q.waiting[next]
	q.waiting = slices.Delete(q.waiting, next, next+1)
	q.putBehind(c.tenant)
	q.admit(c)
}

// before reports whether tenant one gets a slot before tenant other.
func (q *Queue) before(one, other string, now time.Time) bool {
	a, b := q.of(one), q.of(other)
	if a.inside != b.inside {
		return a.inside < b.inside
	}
	return a.lately(now) < b.lately(now)
}

// putBehind moves a tenant's callers behind all others, in the order they came.
func (q *Queue) putBehind(name string) {
	var behind []*caller
	q.waiting = slices.DeleteFunc(q.waiting, func(c *caller) bool {
		if c.tenant == name {
			behind = append(behind, c)
		}
		return c.tenant == name
	})
	q.waiting = append(q.waiting, behind...)
}

// withdraw removes a caller that stops waiting; the caller may have just got its slot.
func (q *Queue) withdraw(c *caller) {
	q.mu.Lock()
	i := slices.Index(q.waiting, c)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 {
		q.leave(c.tenant, 0)
	}
}
