package job

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// clock is a database clock that moves only when told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func stopped(d *db.DB) *clock {
	c := &clock{at: d.Now()}
	d.Now = c.now
	return c
}

var quiet = slog.New(slog.DiscardHandler)

func (q *Queue) does(kinds map[string]Kind) worker { return q.worker(quiet, kinds) }

func put(t *testing.T, q *Queue, kind string, items ...string) {
	t.Helper()
	err := q.db.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, item := range items {
			if err := q.Put(t.Context(), tx, kind, item); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	q.Wake()
}

func take(t *testing.T, q *Queue) (Job, bool) {
	t.Helper()
	j, found, err := q.takeOf(t.Context(), group{kinds: []string{"count", "fail", "kind", "panic", "slow", "tidy"}})
	if err != nil {
		t.Fatal(err)
	}
	return j, found
}

func waiting(t *testing.T, q *Queue) int {
	t.Helper()
	n, err := q.Waiting(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs the queue until it is stopped or the test ends.
func run(t *testing.T, q *Queue, kinds map[string]Kind) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx, quiet, kinds) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func TestEachJobOnceOnSeveralServers(t *testing.T) {
	t.Parallel()
	const jobs = 200
	dbtest.EachURL(t, func(t *testing.T, url string) {
		var mu sync.Mutex
		done := map[string]int{}
		all := make(chan struct{})
		allDone := sync.OnceFunc(func() { close(all) })
		kinds := map[string]Kind{"count": {Do: func(_ context.Context, j Job) error {
			mu.Lock()
			defer mu.Unlock()
			done[j.Item]++
			if len(done) == jobs {
				allDone()
			}
			return nil
		}}}
		var q *Queue
		var stops []func()
		for range 3 {
			q = New(dbtest.Open(t, url))
			stops = append(stops, run(t, q, kinds))
		}
		items := make([]string, jobs)
		for i := range items {
			items[i] = strconv.Itoa(i)
		}
		put(t, q, "count", items...)
		<-all
		for _, stop := range stops {
			stop()
		}
		if n := waiting(t, q); n != 0 {
			t.Errorf("%d jobs are to be done again", n)
		}
		for item, n := range done {
			if n != 1 {
				t.Errorf("job %s was done %d times", item, n)
			}
		}
	})
}

func TestNoJobWithoutCommit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		undo := errors.New("undo")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(q.Put(t.Context(), tx, "kind", "item"), undo)
		})
		if !errors.Is(err, undo) || waiting(t, q) != 0 {
			t.Errorf("%v, %d jobs wait", err, waiting(t, q))
		}
	})
}

func TestWaitingJobIsNotAddedTwice(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		put(t, q, "kind", "a", "a", "b")
		if n := waiting(t, q); n != 2 {
			t.Errorf("%d jobs wait, want 2", n)
		}
	})
}

func TestPausesGrowForADay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := stopped(d)
		q := New(d)
		start := c.now()
		put(t, q, "fail", "x")
		var last bool
		kinds := map[string]Kind{"fail": {
			Do:    func(context.Context, Job) error { return errors.New("no") },
			Ended: func(_ context.Context, _ *db.Tx, _ Job, _ error, again bool) error { last = !again; return nil },
		}}
		var tries []time.Duration
		for waiting(t, q) > 0 {
			if j, found := take(t, q); found {
				tries = append(tries, c.now().Sub(start))
				q.does(kinds).do(t.Context(), j)
			}
			c.move(10 * time.Second)
		}
		if !last {
			t.Error("the last try was not told to be the last")
		}
		if tries[1] > 15*time.Second {
			t.Errorf("second try after %s", tries[1])
		}
		for i := 1; i < len(tries); i++ {
			most := min(firstPause<<min(i-1, 9), longPause)
			if got := tries[i] - tries[i-1]; got < most/2 || got > most+10*time.Second {
				t.Errorf("pause %d is %v, want %v at most and half of it at least", i, got, most)
			}
		}
		if end := tries[len(tries)-1]; end < 23*time.Hour || end > 24*time.Hour {
			t.Errorf("last try after %s", end)
		}
	})
}

// Jobs that failed together are not retried together.
func TestPausesDiffer(t *testing.T) {
	t.Parallel()
	first := pause(1)
	for range 10 {
		if pause(1) != first {
			return
		}
	}
	t.Errorf("all are %v", first)
}

// While a try runs, however long, nobody else tries the job.
func TestLongTryKeepsItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := stopped(d)
		q := New(d)
		put(t, q, "kind", "x")
		j, _ := take(t, q)
		w := q.does(map[string]Kind{"kind": {Do: func(ctx context.Context, _ Job) error {
			for range 3 {
				c.move(lease - time.Second)
				for until := c.now().Add(lease); ; {
					at, err := db.One[time.Time](ctx, d, nil, `SELECT run_at FROM jobs`)
					if err != nil {
						return err
					}
					if at.Equal(until) {
						break
					}
				}
			}
			if _, found := take(t, q); found {
				t.Error("it was taken by another")
			}
			return nil
		}}})
		w.renew = time.Millisecond
		w.do(t.Context(), j)
		if n := waiting(t, q); n != 0 {
			t.Errorf("%d jobs wait", n)
		}
	})
}

// A try has a timeout, and a shorter one after the server is told to stop.
func TestTimeOfATry(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{"alone": timeLimit, "stop": stopLimit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stop, cancel := context.WithCancel(t.Context())
				defer cancel()
				if name == "stop" {
					cancel()
				}
				begin := time.Now()
				err := worker{renew: 2 * timeLimit, lease: 2 * timeLimit}.attempt(stop, func(ctx context.Context, _ Job) error {
					<-ctx.Done()
					return ctx.Err()
				}, Job{claimed: begin})
				if took := time.Since(begin); err == nil || took != want {
					t.Errorf("%v after %v, want it after %v", err, took, want)
				}
			})
		})
	}
}

// While a mail server does not respond, jobs that return are done.
func TestReturningJobsHaveAWorkerOfTheirOwn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const mails = workers + maxSlow + 1
		q := New(d)
		for i := range mails {
			put(t, q, "mail", strconv.Itoa(i))
		}
		mailing, tidied := make(chan struct{}, mails), make(chan struct{})
		proceed := make(chan struct{})
		run(t, q, map[string]Kind{
			"mail": {Do: func(context.Context, Job) error {
				mailing <- struct{}{}
				<-proceed
				return nil
			}},
			"tidy": {Every: time.Hour, Do: func(context.Context, Job) error {
				for range workers {
					<-mailing
				}
				close(tidied)
				return nil
			}},
		})
		<-tidied
		close(proceed)
	})
}

func TestPermanentErrorIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		put(t, q, "fail", "x")
		no := errors.New("no")
		var got error
		j, _ := take(t, q)
		q.does(map[string]Kind{"fail": {
			Do: func(context.Context, Job) error { return Permanent(no) },
			Ended: func(_ context.Context, _ *db.Tx, _ Job, err error, again bool) error {
				got = err
				if again {
					t.Error("there is to be another try")
				}
				return nil
			},
		}}).do(t.Context(), j)
		if !errors.Is(got, no) || waiting(t, q) != 0 {
			t.Errorf("ended with %v, %d jobs wait", got, waiting(t, q))
		}
	})
}

func TestJobsEndAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, failed := range []error{nil, errors.New("later")} {
			q, ended := New(d), 0
			put(t, q, "kind", "a", "b")
			w := q.does(map[string]Kind{"kind": {
				Do:          func(context.Context, Job) error { return failed },
				AfterCommit: func(Job, error, bool) { ended++ },
			}})
			first, _ := take(t, q)
			second, _ := take(t, q)
			w.do(t.Context(), first)
			w.do(t.Context(), second)
			if ended != 2 {
				t.Errorf("%v: %d of 2 jobs were held to their end", failed, ended)
			}
		}
	})
}

func TestLostLeaseIsTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := stopped(d)
		q := New(d)
		put(t, q, "kind", "x")
		first, _ := take(t, q)
		if _, found := take(t, q); found {
			t.Fatal("taken twice")
		}
		c.move(30 * time.Second)
		second, found := take(t, q)
		if !found || second.ID != first.ID || second.Attempt != 2 {
			t.Fatalf("%+v, %t: not taken over", second, found)
		}
		late := map[string]Kind{"kind": {
			Do: func(context.Context, Job) error { return nil },
			Ended: func(context.Context, *db.Tx, Job, error, bool) error {
				t.Error("a late worker has written down how it went")
				return nil
			},
			AfterCommit: func(Job, error, bool) { t.Error("a late worker has told how it went") },
		}}
		q.does(late).do(t.Context(), first)
		if waiting(t, q) != 1 {
			t.Error("a late worker has ended the job of another")
		}
		q.does(map[string]Kind{"kind": {Do: func(context.Context, Job) error { return nil }}}).do(t.Context(), second)
		if waiting(t, q) != 0 {
			t.Error("the job is not done")
		}
	})
}

// A job is not done again because the database could not record its end for a while.
func TestEndIsTriedAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		failures := 0
		q := New(d)
		put(t, q, "kind", "x")
		j, _ := take(t, q)
		w := q.does(map[string]Kind{"kind": {Do: func(context.Context, Job) error {
			rename(t, d, "jobs", "gone")
			return nil
		}}})
		back := func() {
			if failures++; failures == maxWrong+1 {
				rename(t, d, "gone", "jobs")
			}
		}
		w.log = slog.New(slog.NewTextHandler(&told{text: "end a job", then: back}, nil))
		w.do(t.Context(), j)
		if n := waiting(t, q); n != 0 {
			t.Errorf("%d jobs wait", n)
		}
	})
}

// A job that cannot be ended does not hold up a worker.
func TestEndThatIsWrong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		put(t, q, "kind", "x")
		j, _ := take(t, q)
		ended := 0
		q.does(map[string]Kind{"kind": {
			Do: func(context.Context, Job) error { return nil },
			Ended: func(context.Context, *db.Tx, Job, error, bool) error {
				ended++
				return errors.New("wrong")
			},
		}}).do(t.Context(), j)
		if ended > 2*maxWrong || waiting(t, q) != 1 { // a failed shared commit is retried alone
			t.Errorf("ended %d times, %d jobs wait", ended, waiting(t, q))
		}
	})
}

// A job is not done again because the connection is lost while it is ended.
func TestEndOnALostConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	q := New(d)
	put(t, q, "kind", "x")
	j, _ := take(t, q)
	lost := false
	q.does(map[string]Kind{"kind": {
		Do: func(context.Context, Job) error { return nil },
		Ended: func(ctx context.Context, tx *db.Tx, _ Job, _ error, _ bool) error {
			if lost {
				return nil
			}
			lost = true
			_, err := db.One[bool](ctx, tx, nil, `SELECT pg_terminate_backend(pg_backend_pid())`)
			return err
		},
	}}).do(t.Context(), j)
	if n := waiting(t, q); n != 0 || !lost {
		t.Errorf("%d jobs wait", n)
	}
}

// A server leaves jobs of unknown kinds to a server that knows them.
func TestPanicsAreTriedAgainAndUnknownKindsLeft(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := stopped(d)
		q := New(d)
		put(t, q, "panic", "x")
		put(t, q, "unknown", "x")
		kinds := map[string]Kind{"panic": {Do: func(context.Context, Job) error { panic("oh") }}}
		j, _ := take(t, q)
		q.does(kinds).do(t.Context(), j)
		if j, found := take(t, q); found || waiting(t, q) != 2 {
			t.Errorf("%+v: not postponed, or not left", j)
		}
		c.move(15 * time.Second)
		if j, _ := take(t, q); j.Kind != "panic" || j.Attempt != 2 {
			t.Errorf("%+v: not tried again", j)
		}
		if j, found, err := q.takeOf(t.Context(), group{kinds: []string{"unknown"}}); err != nil || !found || j.Attempt != 1 {
			t.Errorf("%+v, %t, %v: not left as it was", j, found, err)
		}
	})
}

func TestScheduledJobReturns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := stopped(d)
		q := New(d)
		var failed error
		kinds := map[string]Kind{"tidy": {Every: time.Hour, Do: func(context.Context, Job) error { return failed }}}
		for range 2 { // like two servers
			if !q.does(kinds).schedule(t.Context()) {
				t.Fatal("not scheduled")
			}
		}
		for _, failed = range []error{errors.New("this time not"), nil, Permanent(errors.New("never"))} {
			j, found := take(t, q)
			if !found || waiting(t, q) != 1 {
				t.Fatalf("found %t, %d jobs wait", found, waiting(t, q))
			}
			q.does(kinds).do(t.Context(), j)
			c.move(time.Hour - time.Second)
			if _, found := take(t, q); found {
				t.Fatal("returned too early")
			}
			c.move(time.Second)
		}
	})
}

func rename(t *testing.T, d *db.DB, from, to string) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(t.Context(), tx, `ALTER TABLE `+from+` RENAME TO `+to)
	})
	if err != nil {
		t.Error(err)
	}
}

// A server that starts while the database accepts no jobs schedules them as soon as the database does.
func TestJobsAreScheduledLater(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rename(t, d, "jobs", "gone")
		ctx, stop := context.WithCancel(t.Context())
		failed, done := make(chan struct{}), make(chan struct{})
		log := slog.New(slog.NewTextHandler(&told{text: "schedule jobs", then: sync.OnceFunc(func() { close(failed) })}, nil))
		kinds := map[string]Kind{"tidy": {Every: time.Hour, Do: func(context.Context, Job) error {
			close(done)
			return nil
		}}}
		var running sync.WaitGroup
		running.Go(func() { New(d).Run(ctx, log, kinds) })
		<-failed
		rename(t, d, "gone", "jobs")
		<-done
		stop()
		running.Wait()
	})
}

// told calls a function when a given text is written to it.
type told struct {
	text string
	then func()
}

func (w *told) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(w.text)) {
		w.then()
	}
	return len(line), nil
}

// A server polls once a second, not once for each worker.
func TestIdleServerLooksOnceASecond(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		looks := make(chan struct{}, 100)
		d.Now = func() time.Time { // called by each poll
			looks <- struct{}{}
			return time.Now()
		}
		begun := time.Now()
		run(t, New(d), map[string]Kind{"kind": {}})
		const polls = 2
		for range workers + polls { // each worker looks once at its start
			<-looks
		}
		if took := time.Since(begun); took < polls*pollEvery {
			t.Errorf("%d polls took %s", polls, took)
		}
	})
}

func TestRunFinishesWhatItHasBegun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		put(t, q, "slow", "x")
		begun, goOn := make(chan struct{}), make(chan struct{})
		kinds := map[string]Kind{"slow": {Do: func(ctx context.Context, _ Job) error {
			close(begun)
			<-goOn
			return ctx.Err()
		}}}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { q.Run(ctx, quiet, kinds) })
		<-begun
		stop()
		close(goOn)
		running.Wait()
		if n := waiting(t, q); n != 0 {
			t.Errorf("%d jobs wait", n)
		}
	})
}
