package db

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// queue brings what callers want to the one goroutine that serves them, many at a time:
// who comes while a batch is served shares the next one. Who comes alone is served at
// once.
type queue[T entry] struct {
	ready chan struct{} // there may be enough of them, or the queue is closed
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
	// maxShared is how many callers share a batch at most, so that the first does not
	// wait for ever.
	maxShared = 64
	// maxPause is how long a batch waits for a further caller whom it expects: about as
	// long as a commit takes.
	maxPause = 500 * time.Microsecond
)

// startQueue has batches served one after another, until the queue is closed.
func startQueue[T entry](serve func(batch []T)) *queue[T] {
	q := &queue[T]{ready: make(chan struct{}, 1), done: make(chan struct{}), pause: time.NewTimer(maxPause)}
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
		batch = q.next(batch[:0])
		if len(batch) == 0 {
			return
		}
		serve(batch)
		q.served(batch)
		for _, t := range batch {
			close(t.self().answer)
		}
		clear(batch)
	}
}

// next puts those who are there into a batch. If more were there at the end of the last
// one, it waits for them a little: most clients that were just answered ask again at
// once, and one batch for all of them costs less than two for some each. There is no
// batch once the queue is closed.
func (q *queue[T]) next(batch []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	for seen := 0; !q.closed && !q.enough(); {
		switch late := q.sleep(); {
		case late && len(q.waiting) > seen:
			seen = len(q.waiting)
		case late:
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

// sleep lets others in until there may be enough of them. If there is somebody to wait
// for, it reports after a pause that it is late.
func (q *queue[T]) sleep() (late bool) {
	var pause <-chan time.Time
	if q.company.expected > 1 {
		q.pause.Reset(maxPause)
		defer q.pause.Stop()
		pause = q.pause.C
	}
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-q.ready:
		return false
	case <-pause:
		return true
	}
}

// refuse turns away whoever waits.
func (q *queue[T]) refuse() {
	for _, t := range q.waiting {
		t.self().err = errClosed
		close(t.self().answer)
	}
	q.waiting = nil
}

// served tells the company how many callers there are at the end of a batch.
func (q *queue[T]) served(batch []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.company.served(min(len(batch)+len(q.waiting), maxShared))
}

// company is how many callers are worth waiting for.
type company struct {
	expected int // in the next batch; 0: whoever is there is enough
	misses   int // times in a row that they did not come
	alone    int // batches that are to be served without waiting
}

// served is told how many callers there were at the end of a batch.
func (c *company) served(callers int) {
	if c.alone > 0 {
		c.alone--
		return
	}
	if c.expected > 1 {
		c.misses = 0
	}
	c.expected = callers
}

// missed is told that not all came. They are waited for again, but more and more rarely.
func (c *company) missed() {
	c.misses = min(c.misses+1, 7)
	c.expected, c.alone = 0, 1<<c.misses
}
