package job

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A try ends when another server has taken its job, or may have because the lease could not be renewed: otherwise both
// would send the mail.
func TestLostLeaseEndsTheTry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease time.Duration
		lose  func(c *clock, q *Queue, closeDB func() error) error
	}{
		"taken": {time.Minute, func(c *clock, q *Queue, _ func() error) error { // longer than the test, which must not end because of it
			for { // until it is taken before the next renewal
				c.move(time.Hour)
				if _, found, err := q.takeOf(context.Background(), group{kinds: []string{"slow"}}); err != nil || found {
					return err
				}
			}
		}},
		"not renewed": {500 * time.Millisecond, func(_ *clock, _ *Queue, closeDB func() error) error { return closeDB() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EachURL(t, func(t *testing.T, url string) {
				d, err := db.Open(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				closeDB := sync.OnceValue(d.Close)
				t.Cleanup(func() { _ = closeDB() })
				clock, q := stopped(d), New(d)
				put(t, q, "slow", "x")
				j, _ := take(t, q)
				w := q.does(nil)
				w.renew, w.lease = 50*time.Millisecond, c.lease
				ended := w.attempt(t.Context(), func(ctx context.Context, _ Job) error {
					if err := c.lose(clock, q, closeDB); err != nil {
						t.Error(err)
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(20 * time.Second):
						return nil
					}
				}, j)
				if !errors.Is(ended, context.Canceled) {
					t.Errorf("got %v", ended)
				}
			})
		})
	}
}

// A job whose claim had to wait for its transaction belongs to its server for a whole lease from then on: that is when
// the server's timer starts.
func TestLeaseBeginsAfterAWait(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const wait = 10 * time.Second
		c, q := stopped(d), New(d)
		put(t, q, "slow", "x")
		begun := c.now()
		d.Now = func() time.Time { // each call is later
			defer c.move(wait)
			return c.now()
		}
		if _, found := take(t, q); !found {
			t.Fatal("nothing was taken")
		}
		d.Now = func() time.Time { return begun.Add(wait + lease - time.Second) }
		if j, found := take(t, q); found {
			t.Errorf("%+v was taken before the end of its lease", j)
		}
	})
}

// A try ends before its lease does, however long the claim and the renewals take to commit.
func TestTryEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	for name, renewals := range map[string]int{"slow claim": 0, "slow renewal": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EachURL(t, func(t *testing.T, url string) {
				synctest.Test(t, func(t *testing.T) {
					d := dbtest.Open(t, url)
					q := New(d)
					put(t, q, "slow", "x")
					var leaseEnds, tryEnded time.Time
					slow := 2 + renewals // take calls Now twice
					d.Now = func() time.Time {
						at := time.Now().UTC().Truncate(time.Microsecond)
						if slow--; slow < 0 {
							time.Sleep(time.Hour)
							return at
						}
						leaseEnds = at.Add(lease)
						time.Sleep(renewEvery - time.Second)
						return at
					}
					j, _ := take(t, q)
					_ = q.does(nil).attempt(t.Context(), func(ctx context.Context, _ Job) error {
						<-ctx.Done()
						tryEnded = time.Now()
						return ctx.Err()
					}, j)
					if late := tryEnded.Sub(leaseEnds); late >= 0 {
						t.Errorf("it ends %v after its lease", late)
					}
				})
			})
		})
	}
}

// A try may take longer than a lease, although a renewal fails meanwhile.
func TestTryOutlivesItsLease(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			d := dbtest.Open(t, url)
			q := New(d)
			put(t, q, "slow", "x")
			j, _ := take(t, q)
			err := q.does(nil).attempt(t.Context(), func(ctx context.Context, _ Job) error {
				time.Sleep(2*renewEvery - time.Second)
				rename(t, d, "jobs", "gone")
				time.Sleep(2 * time.Second)
				rename(t, d, "gone", "jobs")
				time.Sleep(time.Minute)
				return ctx.Err()
			}, j)
			if _, found := take(t, q); found || err != nil {
				t.Errorf("taken by another: %t; %v", found, err)
			}
		})
	})
}
