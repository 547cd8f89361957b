package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/db"
)

// TestBatches lets clients ask again and again, each a pause after its answer, while a
// batch takes a millisecond to serve.
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
	}{
		{
			"one alone never waits", 1,
			func(int) time.Duration { return 100 * time.Microsecond },
			rounds, rounds * 1100 * time.Microsecond,
		},
		{
			"those who come again soon share a batch", 16,
			func(client int) time.Duration { return time.Duration(100+20*client) * time.Microsecond },
			rounds + 2, (rounds + 2) * 1500 * time.Microsecond,
		},
		{
			"those who come again late are waited for ever more rarely", 8,
			func(int) time.Duration { return 10 * time.Millisecond },
			8 * rounds, rounds * 11600 * time.Microsecond,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start, batches := time.Now(), 0
				do, stop := db.Batches(func(int) {
					batches++
					time.Sleep(service)
				})
				defer stop()
				var clients sync.WaitGroup
				for client := range c.clients {
					clients.Go(func() {
						for range rounds {
							if err := do(t.Context()); err != nil {
								t.Error(err)
							}
							time.Sleep(c.pause(client))
						}
					})
				}
				clients.Wait()
				if took := time.Since(start); took > c.took {
					t.Errorf("it took %v, more than %v", took, c.took)
				}
				if batches > c.batches {
					t.Errorf("%d batches, more than %d", batches, c.batches)
				}
			})
		})
	}
}

// TestLeaveQueue lets two callers come while a first is served: one gives up, and the
// other is still there when the queue is closed.
func TestLeaveQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		batches := 0
		do, stop := db.Batches(func(int) {
			batches++
			time.Sleep(time.Second)
		})
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
		if err := <-patient; err == nil || err.Error() != "the database is closed" {
			t.Errorf("who waits at the end: %v", err)
		}
		if err := do(t.Context()); err == nil || err.Error() != "the database is closed" {
			t.Errorf("who comes after the end: %v", err)
		}
		if batches != 1 {
			t.Errorf("%d batches", batches)
		}
	})
}
