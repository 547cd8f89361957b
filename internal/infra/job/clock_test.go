package job

import (
	"context"
	"errors"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A clock that steps back delays no job by more than two looks: neither a new job, nor one whose server died, nor one
// that waits for a retry. A server keeps the jobs that it is doing.
func TestClockThatStepsBack(t *testing.T) {
	t.Parallel()
	kinds := map[string]Kind{
		"count": {Do: func(context.Context, Job) error { return nil }},
		"fail":  {Do: func(context.Context, Job) error { return errors.New("no") }},
	}
	for name, step := range map[string]time.Duration{"minutes": 5 * time.Minute, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				c, q := stopped(d), New(d)
				put(t, q, "count", "its server dies")
				c.move(2 * step)
				take(t, q)
				put(t, q, "fail", "pauses")
				j, _ := take(t, q)
				q.does(kinds).do(t.Context(), j)
				put(t, q, "slow", "its server works")
				working, _ := take(t, q)
				put(t, q, "count", "new")
				c.move(-step)
				looked := look(t, q, nil)
				c.move(lease)
				if held, err := q.does(nil).renewLease(t.Context(), working); err != nil || !held {
					t.Fatalf("the lease is lost: %v", err)
				}
				look(t, q, looked)
				for range 3 {
					j, found := take(t, q)
					if !found || j.ID == working.ID {
						t.Fatalf("took %+v, %t", j, found)
					}
					q.does(kinds).do(t.Context(), j)
				}
				look(t, q, look(t, q, nil))
				if j, found := take(t, q); found {
					t.Errorf("%+v is due without a pause, or is being done", j)
				}
			})
		})
	}
}

func look(t *testing.T, q *Queue, before []ahead) []ahead {
	t.Helper()
	now, err := q.catchUp(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// A server whose clock is ahead of this one's keeps the jobs that it is doing, and loses those it has abandoned.
func TestServersClocksDiffer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c, q := stopped(d), New(d)
		c.move(time.Minute)
		put(t, q, "slow", "x")
		j, _ := take(t, q)
		var looked []ahead
		for range 5 {
			if held, err := q.does(nil).renewLease(t.Context(), j); err != nil || !held {
				t.Fatalf("the lease is lost: %v", err)
			}
			c.move(-time.Minute)
			for _, stale := range looked { // found before the lease was renewed
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return makeDue(ctx, tx, stale, d.Now()) })
				if err != nil {
					t.Fatal(err)
				}
			}
			looked = look(t, q, looked)
			if _, found := take(t, q); found {
				t.Fatal("it was taken by another")
			}
			c.move(time.Minute + lease)
		}
		c.move(-time.Minute)
		look(t, q, look(t, q, looked))
		if _, found := take(t, q); !found {
			t.Error("it was left to a server that has died")
		}
	})
}
