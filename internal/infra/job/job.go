// Package job does in the background what a committed transaction asked for: on any
// number of servers, in spite of crashes, each job once, unless a server dies between
// doing it and recording that, or cannot record it while it holds the lease.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"foyer/internal/base/purpose"
	"foyer/internal/infra/db"
)

const (
	// lease is how long a job belongs to the server that took it, which renews it during a
	// try. Then it is due again: a server that died is replaced within 30 s.
	lease = 25 * time.Second
	// renewEvery leaves time to try that again.
	renewEvery = 8 * time.Second
	// timeLimit is how long one try may take, and stopLimit how long it may go on once the
	// server is told to stop.
	timeLimit = 16 * time.Minute
	stopLimit = 22 * time.Second
	// pollEvery is how soon a server sees a job that another process has put.
	pollEvery = time.Second
	// endEvery is how soon a result that could not be recorded is tried again.
	endEvery = time.Second
	// maxWrong is how often Kind.Ended may fail before the job is left to its lease; once
	// is normal when a connection breaks.
	maxWrong = 3
	// workers is how many jobs one server does at a time, besides one that returns and those
	// that take longer than slowAfter, up to maxSlow: a mail server that says nothing must not
	// hold up what others take.
	workers   = 16
	slowAfter = 15 * time.Second
	maxSlow   = 112

	firstPause = 10 * time.Second // at most, before the second try; each further one doubles it
	longPause  = time.Hour        // the longest pause
	tryFor     = 24 * time.Hour   // from Put until a job is given up
)

// Job is one piece of work.
type Job struct {
	ID        int64
	Kind      string
	Item      string // what it is about
	Attempt   int    // counted from 1; tells takers apart
	CreatedAt time.Time
}

// Kind says how jobs of one kind are done.
type Kind struct {
	// Do does the work, outside any transaction, and gives up when ctx is done. It is
	// tried again after any error that is not Permanent.
	Do func(ctx context.Context, j Job) error
	// Ended, if not nil, records how a try went, in the transaction that ends it:
	// err is what Do returned, again whether there will be another try.
	Ended func(ctx context.Context, tx *db.Tx, j Job, err error, again bool) error
	// AfterCommit, if not nil, hears the same once that has been committed.
	AfterCommit func(j Job, err error, again bool)
	// Every, if not 0, makes this one job that returns for ever, at this interval: an hour
	// at most.
	Every time.Duration
}

// Permanent marks an error that trying again cannot change.
func Permanent(err error) error {
	return permanent{err}
}

type permanent struct{ error }

// Unwrap gives back what was marked.
func (p permanent) Unwrap() error { return p.error }

// Queue holds the jobs of a database.
type Queue struct {
	db   *db.DB
	wake chan struct{}

	mu       sync.Mutex
	underWay map[Job]time.Time // the tries of this server, since when
}

// New returns the queue of a database.
func New(d *db.DB) *Queue {
	return &Queue{db: d, wake: make(chan struct{}, 1), underWay: map[Job]time.Time{}}
}

// Put adds a job, to be done once tx has been committed, unless the same one is waiting
// or being done: a try under way may not see what tx changes, so give such work an item
// of its own.
func (q *Queue) Put(ctx context.Context, tx *db.Tx, kind, item string) error {
	return insert(ctx, tx, kind, item, q.db.Now())
}

// Wake tells Run that a transaction which put jobs has been committed.
func (q *Queue) Wake() { wake(q.wake) }

// wake makes one worker that waits look, or the next that does.
func wake(waiting chan struct{}) {
	select {
	case waiting <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Waiting counts the jobs that are not done.
func (q *Queue) Waiting(ctx context.Context) (int, error) { return count(ctx, q.db) }

// WaitingOf counts those of some kinds, on all servers.
func (q *Queue) WaitingOf(ctx context.Context, kinds ...string) (int, error) {
	return countOf(ctx, q.db, kinds)
}

// OldestOf is how old the oldest of them is; 0: there is none.
func (q *Queue) OldestOf(ctx context.Context, kinds ...string) (time.Duration, error) {
	at, err := oldestOf(ctx, q.db, kinds)
	switch {
	case errors.Is(err, db.ErrNoRow):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return q.db.Now().Sub(at), nil
}

// Run does jobs until ctx is done, then finishes those under way.
func (q *Queue) Run(ctx context.Context, log *slog.Logger, kinds map[string]Kind) {
	ctx = purpose.With(ctx, "jobs")
	w := worker{
		Queue: q, log: log, kinds: kinds, renew: renewEvery, lease: lease - renewEvery/2,
		slowAfter: slowAfter, slow: make(chan struct{}, maxSlow),
	}
	scheduled := w.schedule(ctx)
	var once, returning []string
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[name].Every > 0 {
			returning = append(returning, name)
		} else {
			once = append(once, name)
		}
	}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { w.work(ctx, once, w.wake) })
	}
	wakeReturning := make(chan struct{}, 1)
	working.Go(func() { w.work(ctx, returning, wakeReturning) })
	w.poll(ctx, scheduled, wakeReturning)
	working.Wait()
}

// worker does the jobs of a queue.
type worker struct {
	*Queue
	log   *slog.Logger
	kinds map[string]Kind
	renew time.Duration // how often a lease is renewed
	lease time.Duration // after so long without that, the try ends

	slowAfter time.Duration
	slow      chan struct{} // has one for each job that takes longer
}

// schedule puts the jobs that return, unless another server has done it, and reports
// whether it could. Servers that begin at once wait for each other's, so all put them in one order.
func (w worker) schedule(ctx context.Context) bool {
	err := w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(w.kinds)) {
			if w.kinds[name].Every == 0 {
				continue
			}
			if err := w.Put(ctx, tx, name, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		w.log.ErrorContext(ctx, "schedule jobs", "error", err.Error())
	}
	return err == nil
}

// poll wakes one worker of each sort now and then, until ctx is done, schedules what could not
// be scheduled yet, and makes due what a clock that stepped back would delay.
func (w worker) poll(ctx context.Context, scheduled bool, wakeReturning chan struct{}) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	look := time.NewTicker(lease)
	defer look.Stop()
	var ahead []ahead
	for {
		select {
		case <-look.C:
			var err error
			if ahead, err = w.catchUp(ctx, ahead); err != nil && ctx.Err() == nil {
				w.log.ErrorContext(ctx, "look for jobs that are ahead", "error", err.Error())
			}
		case <-tick.C:
			scheduled = scheduled || w.schedule(ctx)
			w.Wake()
			wake(wakeReturning)
		case <-ctx.Done():
			return
		}
	}
}

// work does jobs of some kinds whenever it is woken, one after the other.
func (w worker) work(ctx context.Context, kinds []string, woken chan struct{}) {
	var slow sync.WaitGroup
	defer slow.Wait()
	for ctx.Err() == nil {
		j, found, err := w.take(ctx, kinds)
		if err != nil && ctx.Err() == nil {
			w.log.ErrorContext(ctx, "take a job", "error", err.Error())
		}
		if found {
			wake(woken) // for another worker: there may be more
			w.doBeside(ctx, &slow, j)
			continue
		}
		select {
		case <-woken:
		case <-ctx.Done():
		}
	}
}

// take claims the job that has been due longest, of kinds that this server knows:
// another one may send mail, or be newer.
func (q *Queue) take(ctx context.Context, kinds []string) (j Job, found bool, err error) {
	if len(kinds) == 0 {
		return Job{}, false, nil
	}
	if found, err = anyDue(ctx, q.db, q.db.Now(), kinds); err != nil || !found {
		return Job{}, false, err
	}
	err = q.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		now := q.db.Now()
		if j, err = nextDue(ctx, tx, now, kinds); err != nil {
			return err
		}
		j.Attempt++
		return claim(ctx, tx, j, now)
	})
	if errors.Is(err, db.ErrNoRow) {
		return Job{}, false, nil // another one was quicker
	}
	return j, err == nil, err
}

// do makes one try, in spite of a stop, and records how it went, both within a lease
// of the stop.
func (w worker) do(stop context.Context, j Job) {
	ctx, leave := outlive(stop, lease)
	defer leave()
	failed := w.attempt(stop, w.kinds[j.Kind].Do, j)
	w.record(ctx, j, failed)
}

// record ends a job whose try has failed so, or not, or has it tried again: it goes on until that is committed, for as
// long as the lease holds.
func (w worker) record(ctx context.Context, j Job, failed error) {
	ctx, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	kind, now := w.kinds[j.Kind], w.db.Now()
	next, again := j.next(kind, failed, now)
	if failed != nil {
		w.log.WarnContext(ctx, "job failed", "kind", j.Kind, "item", j.Item, "attempt", j.Attempt, "again", again, "error", failed.Error())
	}
	var held bool
	var ended error
	finish := func(ctx context.Context, tx *db.Tx) (err error) {
		ended = nil
		if held, err = end(ctx, tx, j, next, now, again); err != nil || !held || kind.Ended == nil {
			return err // not held: the lease was over, and another one has it
		}
		ended = kind.Ended(ctx, tx, j, failed, again)
		return ended
	}
	for wrong := 0; ; {
		err := w.db.InTx(ctx, finish)
		if err == nil {
			break
		}
		w.log.ErrorContext(ctx, "end a job", "kind", j.Kind, "item", j.Item, "error", err.Error())
		if ended != nil {
			wrong++
		}
		if wrong >= maxWrong {
			return
		}
		select {
		case <-time.After(endEvery):
		case <-ctx.Done(): // the lease is over: another one will do it again
			return
		}
	}
	if held && kind.AfterCommit != nil {
		kind.AfterCommit(j, failed, again)
	}
}

// attempt calls do within its time, and renews the lease meanwhile; a panic is an error.
func (w worker) attempt(stop context.Context, do func(context.Context, Job) error, j Job) (err error) {
	ctx, leave := outlive(stop, stopLimit)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	var keeping sync.WaitGroup
	defer keeping.Wait() // or the lease would be renewed after the job has ended
	defer cancel()
	keeping.Go(func() { w.keep(ctx, cancel, j) })
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do(ctx, j)
}

// outlive returns a context that ends d after stop does.
func outlive(stop context.Context, d time.Duration) (ctx context.Context, leave func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(stop))
	forget := context.AfterFunc(stop, func() { time.AfterFunc(d, cancel) })
	return ctx, func() {
		forget()
		cancel()
	}
}

// keep renews the lease of a job until ctx is done. It cancels the try once another server
// may have taken the job, or has: what is done twice is at most what was under way.
func (w worker) keep(ctx context.Context, cancel func(), j Job) {
	over := time.AfterFunc(w.lease, cancel) // by a clock that never steps
	defer over.Stop()
	tick := time.NewTicker(w.renew)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		held, err := w.renewLease(context.WithoutCancel(ctx), j)
		switch {
		case err != nil:
			w.log.ErrorContext(ctx, "keep a job", "kind", j.Kind, "item", j.Item, "error", err.Error())
		case held:
			over.Reset(w.lease)
		default:
			w.log.WarnContext(ctx, "lost a job", "kind", j.Kind, "item", j.Item)
			cancel()
		}
	}
}

// renewLease reports whether the job was still this server's.
func (w worker) renewLease(ctx context.Context, j Job) (held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	err = w.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		now := w.db.Now()
		held, err = postpone(ctx, tx, j, now.Add(lease), now)
		return err
	})
	return held, err
}

// next says whether and when there is another try.
func (j Job) next(kind Kind, err error, now time.Time) (at time.Time, again bool) {
	if kind.Every > 0 {
		return now.Add(kind.Every), true
	}
	if _, never := errors.AsType[permanent](err); err == nil || never {
		return time.Time{}, false
	}
	at = now.Add(pause(j.Attempt))
	return at, at.Before(j.CreatedAt.Add(tryFor))
}

// pause is how long to wait after a try: random, so that jobs that were put together do
// not come back together, to a mail server that takes few at once.
func pause(attempt int) time.Duration {
	const doublings = 9 // enough to exceed longPause
	most := min(firstPause<<min(attempt-1, doublings), longPause)
	return most/2 + rand.N(most/2)
}
