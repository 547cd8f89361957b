package job

import (
	"context"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// What is held is not done, but what comes later is; then it goes on.
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
