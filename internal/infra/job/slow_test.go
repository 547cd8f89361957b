package job

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Sixteen jobs run at once; however many are slow, others are done meanwhile. A stop waits for all of them.
func TestSlowJobsHoldUpNobody(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			const silent = 30
			q := New(dbtest.Open(t, url))
			ctx, stop := context.WithCancel(t.Context())
			begun, release, quick, stopped := make(chan struct{}, silent), make(chan struct{}), make(chan struct{}), make(chan struct{})
			for i := range silent {
				put(t, q, "slow", strconv.Itoa(i))
			}
			go func() {
				defer close(stopped)
				q.Run(ctx, quiet, map[string]Kind{
					"slow": {Do: func(context.Context, Job) error {
						begun <- struct{}{}
						<-release
						return nil
					}},
					"count": {Do: func(context.Context, Job) error { close(quick); return nil }},
				})
			}()
			for range 16 {
				<-begun
			}
			put(t, q, "count", "")
			select {
			case <-quick:
			case <-time.After(time.Minute):
				t.Error("silent ones hold up the others")
			}
			if n, oldest := q.UnderWay("count", "slow"); n < silent/2 || oldest <= 0 {
				t.Errorf("%d are under way, the oldest since %v", n, oldest)
			}
			stop()
			time.Sleep(slowAfter + time.Second)
			select {
			case <-stopped:
				t.Error("it stopped before its jobs ended")
			default:
			}
			close(release)
			<-stopped
			if n, _ := q.UnderWay("slow"); n != 0 {
				t.Errorf("%d are under way at the end", n)
			}
		})
	})
}

// A wake is passed on from worker to worker, as long as there are jobs.
func TestWake(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			q := New(dbtest.Open(t, url))
			ctx, stop := context.WithCancel(t.Context())
			var working, begun sync.WaitGroup
			begun.Add(3)
			w := q.does(map[string]Kind{"kind": {Do: func(context.Context, Job) error {
				begun.Done()
				begun.Wait()
				return nil
			}}})
			for range 3 {
				working.Go(func() { w.work(ctx, q.wake, group{kinds: []string{"kind"}}) })
			}
			synctest.Wait() // until all have looked
			put(t, q, "kind", "a", "b", "c")
			woken := time.Now()
			begun.Wait()
			if took := time.Since(woken); took > 0 {
				t.Errorf("they began within %v", took)
			}
			stop()
			working.Wait()
		})
	})
}

// Jobs that somebody is waiting for do not wait for those that were enqueued before them.
func TestAwaitedJobsAreDoneFirst(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const invites = 2 * workers
		q := New(d)
		for i := range invites {
			put(t, q, "invite", strconv.Itoa(i))
		}
		put(t, q, "signin", "")
		var begun atomic.Int32
		signedIn := make(chan struct{})
		run(t, q, map[string]Kind{
			"invite": {Do: func(context.Context, Job) error {
				begun.Add(1)
				<-signedIn
				return nil
			}},
			"signin": {Awaited: true, Do: func(context.Context, Job) error {
				if n := begun.Load(); n == invites {
					t.Errorf("all %d invites were begun before", n)
				}
				close(signedIn)
				return nil
			}},
		})
		<-signedIn
	})
}

// A try that has lost its lease may end after the next one has started; the next one is under way until it ends itself.
func TestUnderWayAfterALostLease(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c, q := stopped(d), New(d)
		put(t, q, "slow", "x")
		lost, _ := take(t, q)
		q.begin(lost)
		c.move(time.Hour)
		next, _ := take(t, q)
		q.begin(next)
		c.move(time.Minute)
		q.ended(lost)
		if n, oldest := q.UnderWay("slow"); n != 1 || oldest != time.Minute {
			t.Errorf("%d are under way, the oldest for %v", n, oldest)
		}
		q.ended(next)
		if n, _ := q.UnderWay("slow"); n != 0 {
			t.Errorf("%d are under way at the end", n)
		}
	})
}
