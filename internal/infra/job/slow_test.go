package job

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Sixteen jobs run at once; however many are slow, others are done meanwhile.
func TestSlowJobsHoldUpNobody(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const silent = 30
		q := New(d)
		ctx, cancel := context.WithCancel(t.Context())
		begun, release, quick := make(chan struct{}, silent), make(chan struct{}), make(chan struct{})
		w := q.does(map[string]Kind{
			"slow": {Do: func(context.Context, Job) error {
				begun <- struct{}{}
				<-release
				return nil
			}},
			"count": {Do: func(context.Context, Job) error { close(quick); return nil }},
		})
		w.slowAfter, w.slow = 500*time.Millisecond, make(chan struct{}, maxSlow)
		for i := range silent {
			put(t, q, "slow", strconv.Itoa(i))
		}
		var working sync.WaitGroup
		for range workers {
			working.Go(func() { w.work(ctx, q.wake, []string{"count", "slow"}) })
		}
		q.Wake()
		for range 16 {
			<-begun
		}
		put(t, q, "count", "")
		select {
		case <-quick:
		case <-time.After(20 * time.Second):
			t.Error("silent ones hold up the others")
		}
		if n, oldest := q.UnderWay("count", "slow"); n < silent/2 || oldest <= 0 {
			t.Errorf("%d are under way, the oldest since %v", n, oldest)
		}
		cancel()
		close(release)
		working.Wait()
		if n, _ := q.UnderWay("slow"); n != 0 {
			t.Errorf("%d are under way at the end", n)
		}
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
