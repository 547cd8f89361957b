// Package queue collects concurrent callers for one goroutine that serves many of them at a time.
package queue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"foyer/internal/base/inflight"
)

// Queue collects callers into batches: those that come while a batch is served share the next one. A single caller is
// served immediately. When a batch ends early, users who are in it wait behind the others.
type Queue struct {
	ready chan struct{} // there may be enough callers, or the queue is closed
	done  chan struct{}
	pause *time.Timer // of the serving goroutine

	mu       sync.Mutex
	waiting  []*Unit
	batching batching // changed only by the serving goroutine
	closed   bool
	waited   time.Duration // total of all served callers
}

// Unit is the work of one caller.
type Unit struct {
	Work func() error
	Err  error // the result

	user   int64           // 0: nobody's work
	gone   <-chan struct{} // closed when the caller gives up
	served chan struct{}
	since  time.Time
}

// errGone is the error of callers that gave up during a batch that has not served them.
var errGone = errors.New("the caller is gone")

// ErrClosed is the error of callers that have not been served when the queue is closed.
var ErrClosed = errors.New("the database is closed")

const (
	// maxShared is how many callers may share a batch, so that the first one does not wait for ever.
	maxShared = 64
	// maxPause is how long a batch may wait for the callers that it expects.
	maxPause = time.Millisecond
)

// Start calls serve for one batch after another until the queue is closed. serve returns how many units it has served, at
// least one; the others are in later batches.
func Start(serve func(batch []*Unit) (served int)) *Queue {
	q := &Queue{ready: make(chan struct{}, 1), done: make(chan struct{}), pause: time.NewTimer(maxPause)}
	q.pause.Stop()
	go q.run(serve)
	return q
}

// Do returns the result of work once it has been served. If ctx is done before its batch begins, it is not served.
func (q *Queue) Do(ctx context.Context, work func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &Unit{Work: work, user: inflight.From(ctx).User(), gone: ctx.Done(), served: make(chan struct{}), since: time.Now()}
	if !q.join(u) {
		return ErrClosed
	}
	select {
	case <-u.served:
	case <-ctx.Done():
		if q.leave(u) {
			return ctx.Err()
		}
		<-u.served
	}
	if errors.Is(u.Err, errGone) {
		return ctx.Err()
	}
	return u.Err
}

func (q *Queue) join(u *Unit) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, u)
	if q.enough() {
		q.wake()
	}
	return true
}

// leave reports whether u was still waiting.
func (q *Queue) leave(u *Unit) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, u)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

func (q *Queue) enough() bool {
	return len(q.waiting) > 0 && len(q.waiting) >= q.batching.expected
}

func (q *Queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// Close refuses all waiting callers, and returns when the running batch has been served.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *Queue) run(serve func(batch []*Unit) (served int)) {
	defer close(q.done)
	batch := make([]*Unit, 0, maxShared)
	for {
		runtime.Gosched() // let callers join that are about to
		batch = q.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		began := time.Now()
		n := serve(batch)
		q.putBack(batch[:n], batch[n:], began)
		q.note(n, time.Since(began))
		for _, u := range batch[:n] {
			close(u.served)
		}
		clear(batch)
	}
}

// next puts the waiting callers into a batch. If there were more at the end of the last batch, it waits for them briefly:
// most clients ask again immediately after an answer, and one batch costs less than two. The batch is empty once the
// queue is closed.
func (q *Queue) next(batch []*Unit) []*Unit {
	if q.batching.expected > 1 {
		q.pause.Reset(q.batching.timeout)
		defer q.pause.Stop()
	}
	for {
		if batch, ok := q.take(batch); ok {
			return batch
		}
		select {
		case <-q.ready:
		case <-q.pause.C:
			q.giveUp()
		}
	}
}

// take fills a batch if there are enough callers, or refuses them if the queue is closed.
func (q *Queue) take(batch []*Unit) (filled []*Unit, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		for _, u := range q.waiting {
			u.Err = ErrClosed
			close(u.served)
		}
		q.waiting = nil
		return batch, true
	}
	if !q.enough() {
		return batch, false
	}
	n := min(len(q.waiting), maxShared)
	batch = append(batch, q.waiting[:n]...)
	for _, u := range batch {
		q.waited += time.Since(u.since)
	}
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch, true
}

// Waits returns how many callers are waiting now, and how long all served callers together have waited.
func (q *Queue) Waits() (now int, all time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting), q.waited
}

// giveUp stops waiting for the expected callers.
func (q *Queue) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batching.timedOut()
}

// putBack makes the rest of a batch wait again: before callers that came since it began, but users who were served wait
// behind the others.
func (q *Queue) putBack(served, rest []*Unit, began time.Time) {
	if len(rest) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	hadTurn := func(u *Unit) bool {
		return u.user != 0 && slices.ContainsFunc(served, func(s *Unit) bool { return s.user == u.user })
	}
	var first, behind []*Unit
	for i, u := range slices.Concat(rest, q.waiting) {
		if i < len(rest) {
			u.since = began // take has counted the wait before
		}
		select {
		case <-u.gone: // whoever gives up cannot leave during a batch, and does so now
			u.Err = errGone
			close(u.served)
			continue
		default:
		}
		if hadTurn(u) {
			behind = append(behind, u)
		} else {
			first = append(first, u)
		}
	}
	q.waiting = append(first, behind...)
}

// note records how many callers there are at the end of a batch that has served n.
func (q *Queue) note(n int, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batching.observe(min(n+len(q.waiting), maxShared), took)
}
