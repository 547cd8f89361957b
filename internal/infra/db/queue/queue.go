// Package queue collects concurrent callers for one goroutine that serves many of them at a time.
package queue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Queue collects callers into batches: those that come while a batch is served share the next one. A single caller is
// served immediately.
type Queue[T Entry] struct {
	ready chan struct{} // there may be enough callers, or the queue is closed
	done  chan struct{}
	pause *time.Timer // of the serving goroutine

	mu       sync.Mutex
	waiting  []T
	batching batching // changed only by the serving goroutine
	closed   bool
	waited   time.Duration // total of all served callers
}

// Entry is the work of a caller: a pointer to a struct that embeds Turn.
type Entry interface {
	comparable
	turn() *Turn
}

// Turn is one caller's part in a batch.
type Turn struct {
	Err error // the result

	served chan struct{}
	since  time.Time
}

func (t *Turn) turn() *Turn { return t }

// ErrClosed is the error of callers that have not been served when the queue is closed.
var ErrClosed = errors.New("the database is closed")

const (
	// maxShared is how many callers may share a batch, so that the first one does not wait for ever.
	maxShared = 64
	// maxPause is how long a batch may wait for the callers that it expects.
	maxPause = time.Millisecond
)

// Start calls serve for one batch after another until the queue is closed.
func Start[T Entry](serve func(batch []T)) *Queue[T] {
	q := &Queue[T]{ready: make(chan struct{}, 1), done: make(chan struct{}), pause: time.NewTimer(maxPause)}
	q.pause.Stop()
	go q.run(serve)
	return q
}

// Do returns the result of an entry once it has been served. If ctx is done before its batch begins, it is not served.
func (q *Queue[T]) Do(ctx context.Context, entry T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := entry.turn()
	t.served, t.since = make(chan struct{}), time.Now()
	if !q.join(entry) {
		return ErrClosed
	}
	select {
	case <-t.served:
	case <-ctx.Done():
		if q.leave(entry) {
			return ctx.Err()
		}
		<-t.served
	}
	return t.Err
}

func (q *Queue[T]) join(entry T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, entry)
	if q.enough() {
		q.wake()
	}
	return true
}

// leave reports whether entry was still waiting.
func (q *Queue[T]) leave(entry T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, entry)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

func (q *Queue[T]) enough() bool {
	return len(q.waiting) > 0 && len(q.waiting) >= q.batching.expected
}

func (q *Queue[T]) wake() {
	select {
	case q.ready <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// Close refuses all waiting callers, and returns when the running batch has been served.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *Queue[T]) run(serve func(batch []T)) {
	defer close(q.done)
	batch := make([]T, 0, maxShared)
	for {
		runtime.Gosched() // let callers join that are about to
		batch = q.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		began := time.Now()
		serve(batch)
		q.note(batch, time.Since(began))
		for _, entry := range batch {
			close(entry.turn().served)
		}
		clear(batch)
	}
}

// next puts the waiting callers into a batch. If there were more at the end of the last batch, it waits for them briefly:
// most clients ask again immediately after an answer, and one batch costs less than two. The batch is empty once the
// queue is closed.
func (q *Queue[T]) next(batch []T) []T {
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
func (q *Queue[T]) take(batch []T) (filled []T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		for _, entry := range q.waiting {
			entry.turn().Err = ErrClosed
			close(entry.turn().served)
		}
		q.waiting = nil
		return batch, true
	}
	if !q.enough() {
		return batch, false
	}
	n := min(len(q.waiting), maxShared)
	batch = append(batch, q.waiting[:n]...)
	for _, entry := range batch {
		q.waited += time.Since(entry.turn().since)
	}
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch, true
}

// Waits returns how many callers are waiting now, and how long all served callers together have waited.
func (q *Queue[T]) Waits() (now int, all time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting), q.waited
}

// giveUp stops waiting for the expected callers.
func (q *Queue[T]) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batching.timedOut()
}

// note records how many callers there are at the end of a batch.
func (q *Queue[T]) note(batch []T, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batching.observe(min(len(batch)+len(q.waiting), maxShared), took)
}
