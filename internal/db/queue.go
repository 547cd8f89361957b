package db

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// queue brings what callers want to the one goroutine that serves it, many at a time:
// what comes while a batch is served shares the next one. One that comes alone is
// served at once.
type queue[T interface{ self() *turn }] struct {
	waiting chan T
	callers atomic.Int64 // who wait, or are being served
	quit    chan struct{}
	done    chan struct{}

	company company // of the serving goroutine
	pause   *time.Timer
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
	// maxPause is how long a batch waits for each further caller whom it expects: about
	// as long as a commit takes.
	maxPause = 500 * time.Microsecond
)

// startQueue has batches served one after another. A batch comes with its first member;
// serve may add what next returns.
func startQueue[T interface{ self() *turn }](serve func(q *queue[T], batch []T) []T) *queue[T] {
	q := &queue[T]{waiting: make(chan T), quit: make(chan struct{}), done: make(chan struct{}), pause: time.NewTimer(maxPause)}
	go q.run(serve)
	return q
}

func (q *queue[T]) run(serve func(q *queue[T], batch []T) []T) {
	defer close(q.done)
	batch := make([]T, 0, maxShared)
	for {
		select {
		case first := <-q.waiting:
			batch = serve(q, append(batch[:0], first))
			q.company.served(int(q.callers.Load()))
			for _, t := range batch {
				close(t.self().answer)
			}
			clear(batch)
		case <-q.quit:
			return
		}
	}
}

// do returns once t has been served.
func (q *queue[T]) do(ctx context.Context, t T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := t.self()
	own.answer = make(chan struct{})
	q.callers.Add(1)
	defer q.callers.Add(-1)
	select {
	case q.waiting <- t:
		<-own.answer
		return own.err
	case <-ctx.Done():
		return ctx.Err()
	case <-q.quit:
		return errClosed
	}
}

// next is a further member for a batch that has some. It waits a little if more were
// there at the end of the last batch: most clients that were just answered ask again at
// once, and one batch for all of them costs less than two for some each.
func (q *queue[T]) next(batch []T) (t T, ok bool) {
	if len(batch) == maxShared {
		return t, false
	}
	select {
	case t = <-q.waiting:
		return t, true
	default:
	}
	if len(batch) >= q.company.expected {
		return t, false
	}
	q.pause.Reset(maxPause)
	defer q.pause.Stop()
	select {
	case t = <-q.waiting:
		return t, true
	case <-q.pause.C:
		q.company.missed()
		return t, false
	}
}

func (q *queue[T]) close() {
	close(q.quit)
	<-q.done
}

// company is how many callers are worth waiting for.
type company struct {
	expected int // in the batch under way; 0: whoever is there is enough
	misses   int // times in a row that they did not come
	alone    int // batches that are to be served without waiting
}

// served is told how many callers there were at the end of a batch.
func (c *company) served(callers int) {
	if c.alone > 0 {
		c.alone--
		return
	}
	if c.expected > 0 {
		c.misses = 0
	}
	c.expected = callers
}

// missed is told that not all came. They are waited for again, but more and more rarely.
func (c *company) missed() {
	c.misses = min(c.misses+1, 7)
	c.expected, c.alone = 0, 1<<c.misses
}
