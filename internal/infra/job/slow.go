package job

import (
	"context"
	"slices"
	"sync"
	"time"
)

// doBeside does a job. If the job is slow, doBeside returns before it ends, unless there are too many slow jobs.
func (w worker) doBeside(ctx context.Context, slow *sync.WaitGroup, j Job) {
	done := make(chan struct{})
	slow.Go(func() {
		defer close(done)
		w.begin(j)
		defer w.ended(j)
		w.do(ctx, j)
	})
	select {
	case <-done:
		return
	case <-time.After(slowAfter):
	}
	select {
	case <-done:
	case w.slow <- struct{}{}:
		slow.Go(func() {
			<-done
			<-w.slow
		})
	}
}

// UnderWay returns how many jobs of some kinds this server is doing, and for how long it has been doing the oldest.
func (q *Queue) UnderWay(kinds ...string) (n int, oldest time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.db.Now()
	for j, since := range q.underWay {
		if slices.Contains(kinds, j.Kind) {
			n++
			oldest = max(oldest, now.Sub(since))
		}
	}
	return n, oldest
}

func (q *Queue) begin(j Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.underWay[j] = q.db.Now()
}

func (q *Queue) ended(j Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.underWay, j)
}
