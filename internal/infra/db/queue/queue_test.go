package queue_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/infra/db/queue"
)

// start starts a queue whose batches are served by serve.
func start(serve func()) (do func(context.Context) error, stop func()) {
	q := queue.Start(func(batch []*queue.Unit) int {
		serve()
		return len(batch)
	})
	return func(ctx context.Context) error { return q.Do(ctx, nil) }, q.Close
}

// slow starts a queue whose batches take a second each, and counts them.
func slow() (do func(context.Context) error, stop func(), batches *int) {
	batches = new(int)
	do, stop = start(func() {
		*batches++
		time.Sleep(time.Second)
	})
	return do, stop, batches
}

// TestBatches has clients that ask again and again, each a pause after its answer, while a batch takes a millisecond.
func TestBatches(t *testing.T) {
	t.Parallel()
	const (
		rounds  = 100
		service = time.Millisecond
	)
	for _, c := range []struct {
		name    string
		clients int
		pause   func(client int) time.Duration
		batches int           // at most
		took    time.Duration // at most
		slowest time.Duration // wait for an answer, at most
	}{
		{
			"one alone never waits", 1,
			func(int) time.Duration { return 100 * time.Microsecond },
			rounds, rounds * 1100 * time.Microsecond, service,
		},
		{
			"those who come again soon share a batch", 16,
			func(client int) time.Duration { return time.Duration(100+20*client) * time.Microsecond },
			rounds + 2, (rounds + 2) * 1500 * time.Microsecond, 3 * service,
		},
		{
			"those who come again late are waited for ever more rarely", 8,
			func(int) time.Duration { return 10 * time.Millisecond },
			8 * rounds, rounds * 11400 * time.Microsecond, 3 * service,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, batches := time.Now(), 0
				slowest := make([]time.Duration, c.clients)
				do, stop := start(func() {
					batches++
					time.Sleep(service)
				})
				defer stop()
				var clients sync.WaitGroup
				for client := range c.clients {
					clients.Go(func() {
						for range rounds {
							asked := time.Now()
							if err := do(t.Context()); err != nil {
								t.Error(err)
							}
							slowest[client] = max(slowest[client], time.Since(asked))
							time.Sleep(c.pause(client))
						}
					})
				}
				clients.Wait()
				if took := time.Since(began); took > c.took {
					t.Errorf("it took %v, more than %v", took, c.took)
				}
				if slowest := slices.Max(slowest); slowest > c.slowest {
					t.Errorf("an answer took %v, more than %v", slowest, c.slowest)
				}
				if batches > c.batches {
					t.Errorf("%d batches, more than %d", batches, c.batches)
				}
			})
		})
	}
}

// TestAloneAgain has one caller long after many have shared batches.
func TestAloneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		do, stop := start(func() { time.Sleep(time.Millisecond) })
		defer stop()
		var clients sync.WaitGroup
		for range 16 {
			clients.Go(func() {
				for range 3 {
					if err := do(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		clients.Wait()
		time.Sleep(time.Hour)
		asked := time.Now()
		if err := do(t.Context()); err != nil || time.Since(asked) != time.Millisecond {
			t.Errorf("error %v after %v", err, time.Since(asked))
		}
	})
}

// TestLeft has a caller that gives up while another is served.
func TestLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		do, stop, batches := slow()
		defer stop()
		first := make(chan error, 1)
		go func() { first <- do(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gives up: %v", err)
		}
		time.Sleep(time.Hour)
		if err := <-first; err != nil || *batches != 1 {
			t.Errorf("%d batches, %v: who has left is served", *batches, err)
		}
	})
}

// TestLeaveQueue has two callers that come while a first is served: one gives up, and the other still waits when the
// queue is closed.
func TestLeaveQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		do, stop, batches := slow()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		first, hasty, patient := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { first <- do(t.Context()) }()
		synctest.Wait()
		go func() { hasty <- do(ctx) }()
		go func() { patient <- do(t.Context()) }()
		synctest.Wait()
		if err := <-hasty; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gives up: %v", err)
		}
		stop()
		if err := <-first; err != nil {
			t.Errorf("who is being served: %v", err)
		}
		if err := <-patient; !errors.Is(err, queue.ErrClosed) {
			t.Errorf("who waits at the end: %v", err)
		}
		if err := do(t.Context()); !errors.Is(err, queue.ErrClosed) {
			t.Errorf("who comes after the end: %v", err)
		}
		if *batches != 1 {
			t.Errorf("%d batches", *batches)
		}
	})
}

// When a batch ends early, those who are left are served later: users who were in it after the others. Who gives up
// meanwhile is not served. Each second of a wait counts once.
func TestBatchEndsEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := queue.Start(func(batch []*queue.Unit) int {
			time.Sleep(time.Second)
			batch[0].Err = batch[0].Work()
			return 1
		})
		var order []int64
		var all sync.WaitGroup
		do := func(ctx context.Context, user int64, want error) {
			r := inflight.New(1).Begin(nil)
			r.Of(user)
			all.Go(func() {
				err := q.Do(inflight.With(ctx, r), func() error { order = append(order, user); return nil })
				if !errors.Is(err, want) {
					t.Errorf("user %d: %v", user, err)
				}
			})
			synctest.Wait()
		}
		hasty, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // during the second batch
		defer cancel()
		for range 3 {
			do(t.Context(), 1, nil)
		}
		do(hasty, 3, context.DeadlineExceeded)
		do(t.Context(), 2, nil)
		all.Wait()
		q.Close()
		if want := []int64{1, 1, 2, 1}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
		if now, waited := q.Waits(); now != 0 || waited.Round(time.Second) != 7*time.Second { // 4 callers at the second batch, 2 at the third, 1 at the last, and pauses
			t.Errorf("%d wait, and all have waited %v", now, waited)
		}
	})
}
