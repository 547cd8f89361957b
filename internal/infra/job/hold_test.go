package job

import (
	"context"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Held jobs are not done, but later ones are; after Resume, the held jobs are done.
func TestHold(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		put(t, q, "slow", "a")
		put(t, q, "tidy", "b")
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return Hold(ctx, tx, "slow", "count") }); err != nil {
			t.Fatal(err)
		}
		put(t, q, "slow", "c")
		if n, err := Held(t.Context(), d); n != 1 || err != nil {
			t.Errorf("%d are held, %v", n, err)
		}
		for _, want := range []string{"b", "c"} {
			if j, found := take(t, q); !found || j.Item != want {
				t.Errorf("%+v, want %s", j, want)
			}
		}
		if j, found := take(t, q); found {
			t.Errorf("held: %+v", j)
		}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			n, err := Resume(ctx, tx)
			if n != 1 {
				t.Errorf("%d were held", n)
			}
			return err
		})
		if j, found := take(t, q); err != nil || !found || j.Item != "a" {
			t.Errorf("%+v, %v", j, err)
		}
	})
}

// WaitingOf counts jobs of the given kinds, held or not.
func TestWaiting(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := New(d)
		c := stopped(d)
		if n, err := q.WaitingOf(t.Context(), "slow", "count"); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if age, err := q.OldestOf(t.Context(), "slow", "count"); age != 0 || err != nil {
			t.Errorf("%v, %v", age, err)
		}
		for _, kind := range []string{"tidy", "slow", "count"} {
			put(t, q, kind, "x")
			c.move(time.Hour)
		}
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return Hold(ctx, tx, "slow") }); err != nil {
			t.Fatal(err)
		}
		if n, err := q.WaitingOf(t.Context(), "slow", "count"); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if age, err := q.OldestOf(t.Context(), "slow", "count"); age != 2*time.Hour || err != nil {
			t.Errorf("%v, %v", age, err)
		}
	})
}
