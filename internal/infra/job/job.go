// Package job does background work that a committed transaction has enqueued, on any number of servers and in spite of
// crashes. Each job is done once, unless a server dies between doing it and recording that, or cannot record it while it
// holds the lease.
package job

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"foyer/internal/base/panics"
	"foyer/internal/base/purpose"
	"foyer/internal/infra/db"
)

const (
	// lease is how long a job belongs to the server that took it. The server renews it during a try. When it ends, the
	// job is due again: another server replaces a dead one within 30 s.
	lease = 25 * time.Second
	// renewEvery leaves time to retry a renewal.
	renewEvery = 8 * time.Second
	// timeLimit is the timeout of one try, and stopLimit how long it may continue once the server is told to stop.
	timeLimit = 16 * time.Minute
	stopLimit = 22 * time.Second
	// pollEvery is how soon a server sees a job that another process has enqueued.
	pollEvery = time.Second
	// endEvery is the pause before recording a result is retried.
	endEvery = time.Second
	// maxWrong is how often Kind.Ended may fail before the job is left until its lease ends; one failure is normal when a
	// connection breaks.
	maxWrong = 3
	// workers is how many jobs one server does at a time, not counting one repeated job and up to maxSlow jobs that take
	// longer than slowAfter: a mail server that does not respond must not hold up other jobs.
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
	Item      string // what the job is about
	Attempt   int    // counted from 1; distinguishes the tries of different servers
	CreatedAt time.Time

	claimed time.Time // when the lease began, by a clock that never steps
}

// Kind says how to do jobs of one kind.
type Kind struct {
	// Do does the work, outside any transaction, and stops when ctx is done. It is retried after any error that is not
	// Permanent.
	Do func(ctx context.Context, j Job) error
	// Ended, if not nil, records the result of a try, in the transaction that ends it: err is what Do returned, again
	// whether there will be another try.
	Ended func(ctx context.Context, tx *db.Tx, j Job, err error, again bool) error
	// AfterCommit, if not nil, gets the same arguments once that transaction has been committed.
	AfterCommit func(j Job, err error, again bool)
	// Awaited says that somebody is waiting for the result: these jobs are done before other due ones.
	Awaited bool
	// Every, if not 0, makes this a single job that is repeated for ever, at this interval of at most an hour.
	Every time.Duration
}

// Permanent marks an error that a retry cannot change.
func Permanent(err error) error {
	return permanent{err}
}

type permanent struct{ error }

// Unwrap returns the marked error.
func (p permanent) Unwrap() error { return p.error }

// Queue holds the jobs of a database.
type Queue struct {
	db   *db.DB
	wake chan struct{}

	mu       sync.Mutex
	underWay map[Job]time.Time // the tries of this server, with their start times
}

// New returns the queue of a database.
func New(d *db.DB) *Queue {
	return &Queue{db: d, wake: make(chan struct{}, 1), underWay: map[Job]time.Time{}}
}

// Put enqueues a job, to be done once tx has been committed, unless the same job is waiting or running. A running try may
// not see the changes of tx, so work that depends on them needs an item of its own.
func (q *Queue) Put(ctx context.Context, tx *db.Tx, kind, item string) error {
	return insert(ctx, tx, kind, item, q.db.Now())
}

// Wake tells Run that a transaction with new jobs has been committed.
func (q *Queue) Wake() { wake(q.wake) }

// wake makes one waiting worker look for a job, or the next one that would wait.
func wake(waiting chan struct{}) {
	select {
	case waiting <- struct{}{}:
	default: // it is about to look anyway
	}
}

// Run does jobs until ctx is done, then finishes the running ones.
func (q *Queue) Run(ctx context.Context, log *slog.Logger, kinds map[string]Kind) {
	ctx = purpose.With(ctx, "jobs")
	w := q.worker(log, kinds)
	scheduled := w.schedule(ctx)
	awaited, others, returning := group{}, group{many: true}, group{}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		of := &others
		switch kind := kinds[name]; {
		case kind.Every > 0:
			of = &returning
		case kind.Awaited:
			of = &awaited
		}
		of.kinds = append(of.kinds, name)
	}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { w.work(ctx, w.wake, awaited, others) })
	}
	wakeReturning := make(chan struct{}, 1)
	working.Go(func() { w.work(ctx, wakeReturning, returning) })
	w.poll(ctx, scheduled, wakeReturning)
	working.Wait()
}

// worker does the jobs of a queue.
type worker struct {
	*Queue
	log   *slog.Logger
	kinds map[string]Kind
	renew time.Duration // interval of renewals
	lease time.Duration // the try ends after this time without a renewal
	slow  chan struct{} // holds one value for each slow job
}

func (q *Queue) worker(log *slog.Logger, kinds map[string]Kind) worker {
	return worker{
		Queue: q, log: log, kinds: kinds, renew: renewEvery, lease: lease - renewEvery/2,
		slow: make(chan struct{}, maxSlow),
	}
}

// schedule enqueues the repeated jobs, unless another server has done it, and reports whether that succeeded. Servers
// that start together wait for each other's rows, so all use the same order.
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

// poll, until ctx is done, regularly wakes one worker of each sort, retries a failed schedule, and makes jobs due that a
// clock that stepped back would delay.
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

// work does jobs, one after the other, whenever it is woken: those of the first group of kinds before those of the next.
func (w worker) work(ctx context.Context, woken chan struct{}, groups ...group) {
	var slow sync.WaitGroup
	defer slow.Wait()
	for ctx.Err() == nil {
		j, found, err := w.take(ctx, groups)
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

// take claims a job of the first group of kinds that has a due one.
func (q *Queue) take(ctx context.Context, groups []group) (j Job, found bool, err error) {
	for _, g := range groups {
		if j, found, err = q.takeOf(ctx, g); found || err != nil {
			break
		}
	}
	return j, found, err
}

// takeOf claims the job that has been due longest, of some of the kinds that this server knows: another server may send
// mail, or be newer.
func (q *Queue) takeOf(ctx context.Context, g group) (j Job, found bool, err error) {
	if len(g.kinds) == 0 {
		return Job{}, false, nil
	}
	if found, err = anyDue(ctx, q.db, q.db.Now(), g); err != nil || !found {
		return Job{}, false, err
	}
	err = q.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		claimed, now := time.Now(), q.db.Now() //nolint:forbidigo // see Job.claimed
		if j, err = nextDue(ctx, tx, now, g); err != nil {
			return err
		}
		j.Attempt, j.claimed = j.Attempt+1, claimed
		return claim(ctx, tx, j, now)
	})
	if errors.Is(err, db.ErrNoRow) {
		return Job{}, false, nil // another server was faster
	}
	return j, err == nil, err
}

// do makes one try, even after a stop, and records the result, both within one lease after the stop.
func (w worker) do(stop context.Context, j Job) {
	ctx, leave := outlive(stop, lease)
	defer leave()
	failed := w.attempt(stop, w.kinds[j.Kind].Do, j)
	w.record(ctx, j, failed)
}

// record ends a job after a try, or postpones it for a retry; failed is the error of the try. It retries until the
// transaction is committed or the lease has ended.
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
			return err // not held: the lease had ended, and another server has taken the job
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
		case <-ctx.Done(): // the lease has ended: another server will do the job again
			return
		}
	}
	if held && kind.AfterCommit != nil {
		kind.AfterCommit(j, failed, again)
	}
}

// attempt calls do with a timeout, and renews the lease meanwhile. It turns a panic into an error.
func (w worker) attempt(stop context.Context, do func(context.Context, Job) error, j Job) error {
	ctx, leave := outlive(stop, stopLimit)
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	var renewing sync.WaitGroup
	defer renewing.Wait() // or the lease would be renewed after the job has ended
	defer cancel()
	renewing.Go(func() { w.renewUntilDone(ctx, cancel, j) })
	return panics.Catch(func() error { return do(ctx, j) })
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

// renewUntilDone renews the lease of a job until ctx is done. It cancels the try when another server has taken the job or
// may have: at most the running step is done twice.
func (w worker) renewUntilDone(ctx context.Context, cancel func(), j Job) {
	over := time.AfterFunc(w.lease-time.Since(j.claimed), cancel) // a commit may take long
	defer over.Stop()
	tick := time.NewTicker(w.renew)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		began := time.Now() //nolint:forbidigo // see Job.claimed
		held, err := w.renewLease(context.WithoutCancel(ctx), j)
		switch {
		case err != nil:
			w.log.ErrorContext(ctx, "renew the lease of a job", "kind", j.Kind, "item", j.Item, "error", err.Error())
		case held:
			over.Reset(w.lease - time.Since(began))
		default:
			w.log.WarnContext(ctx, "lost the lease of a job", "kind", j.Kind, "item", j.Item)
			cancel()
		}
	}
}

// renewLease reports whether the job still belonged to this server.
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

// next returns whether and when there is another try.
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

// pause returns how long to wait after a try: random, so that jobs that were enqueued together are not retried together
// at a mail server that accepts few at once.
func pause(attempt int) time.Duration {
	const doublings = 9 // enough to exceed longPause
	most := min(firstPause<<min(attempt-1, doublings), longPause)
	return most/2 + rand.N(most/2)
}
