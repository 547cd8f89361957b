package db

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// queue brings callers to the one goroutine that serves them, many at a time: those who
// come while a batch is served share the next one. A caller who comes alone is served
// at once.
type queue[T entry] struct {
	ready chan struct{} // there may be enough callers, or the queue is closed
	done  chan struct{}
	pause *time.Timer // of the serving goroutine

	mu      sync.Mutex
	waiting []T
	company company
	closed  bool
}

type entry interface {
	comparable
	self() *turn
}

// turn is one caller's part in a batch.
type turn struct {
	err    error
	answer chan struct{}
}

func (t *turn) self() *turn { return t }

var errClosed = errors.New("the database is closed")

const (
	// maxShared is how many callers may share a batch, so that the first does not wait
	// for ever.
	maxShared = 64
	// maxPause is how long a batch may wait for callers that it expects.
	maxPause = time.Millisecond
)

// startQueue serves batches one after another, until the queue is closed.
func startQueue[T entry](serve func(batch []T)) *queue[T] {
	q := &queue[T]{ready: make(chan struct{}, 1), done: make(chan struct{}), pause: time.NewTimer(maxPause)}
	q.pause.Stop()
	go q.run(serve)
	return q
}

// do returns once t has been served.
func (q *queue[T]) do(ctx context.Context, t T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := t.self()
	own.answer = make(chan struct{})
	if !q.join(t) {
		return errClosed
	}
	select {
	case <-own.answer:
	case <-ctx.Done():
		if q.leave(t) {
			return ctx.Err()
		}
		<-own.answer
	}
	return own.err
}

func (q *queue[T]) join(t T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, t)
	if len(q.waiting) >= q.company.expected {
		q.wake()
	}
	return true
}

// leave reports whether t was still waiting.
func (q *queue[T]) leave(t T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, t)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

func (q *queue[T]) wake() {
	select {
	case q.ready <- struct{}{}:
	default: // it is awake, or about to be
	}
}

// close waits for the batch that is being served.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake()
	<-q.done
}

func (q *queue[T]) run(serve func(batch []T)) {
	defer close(q.done)
	batch := make([]T, 0, maxShared)
	for {
		runtime.Gosched() // let callers join who are about to
		batch = q.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		began := time.Now()
		serve(batch)
		q.served(batch, time.Since(began))
		for _, t := range batch {
			close(t.self().answer)
		}
		clear(batch)
	}
}

// next puts the waiting callers into a batch. If there were more at the end of the last
// batch, it waits for them a little: most clients that were just answered ask again at
// once, and one batch costs less than two. There is no batch once the queue is closed.
func (q *queue[T]) next(batch []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.company.expected > 1 {
		q.pause.Reset(q.company.patience)
		defer q.pause.Stop()
	}
	for !q.closed && !q.enough() {
		if late := q.sleep(); late {
			q.company.missed()
		}
	}
	if q.closed {
		q.refuse()
		return batch
	}
	n := min(len(q.waiting), maxShared)
	batch = append(batch, q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

func (q *queue[T]) enough() bool {
	return len(q.waiting) > 0 && len(q.waiting) >= q.company.expected
}

// sleep lets callers join until there may be enough, or it is late.
func (q *queue[T]) sleep() (late bool) {
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-q.ready:
		return false
	case <-q.pause.C:
		return true
	}
}

// refuse turns away all who wait.
func (q *queue[T]) refuse() {
	for _, t := range q.waiting {
		t.self().err = errClosed
		close(t.self().answer)
	}
	q.waiting = nil
}

// served tells the company how many callers there are at the end of a batch.
func (q *queue[T]) served(batch []T, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.company.served(min(len(batch)+len(q.waiting), maxShared), took)
}

// company is how many callers are worth waiting for.
type company struct {
	expected int           // how many to wait for; 0: do not wait
	patience time.Duration // how long to wait for them
	misses   int           // misses less hits of late, 0 to 7
	alone    int           // batches to serve before waiting again
}

// served notes how many callers there were at the end of a batch, and how long it took:
// waiting for longer than that would not pay.
func (c *company) served(callers int, took time.Duration) {
	if c.alone > 0 {
		c.alone--
		return
	}
	if c.expected > 1 { // we waited and they came: missed would have set it to 0
		c.misses = max(c.misses-1, 0)
	}
	c.expected, c.patience = callers, min(took, maxPause)
}

// missed notes that not all came. It makes next wait again, but more and more rarely.
func (c *company) missed() {
	c.misses = min(c.misses+1, 7)
	c.expected, c.alone = 0, 1<<c.misses
}
