package job

import (
	"context"
	"errors"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

func TestClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const year = 365 * 24 * time.Hour
		c := stopped(d)
		q := New(d)
		c.move(year)
		put(t, q, "count", "new")
		put(t, q, "fail", "deferred")
		kinds := map[string]Kind{
			"count": {Do: func(context.Context, Job) error { return nil }},
			"fail":  {Do: func(context.Context, Job) error { return errors.New("no") }},
		}
		if j, _ := take(t, q); j.Kind != "count" {
			t.Fatalf("took %+v", j) // and its server dies
		}
		j, _ := take(t, q)
		q.does(kinds).do(t.Context(), j)
		c.move(-year)
		for range 2 {
			j, found := take(t, q)
			if !found {
				t.Fatal("a job waits for a year")
			}
			q.does(kinds).do(t.Context(), j)
		}
		if j, found := take(t, q); found {
			t.Errorf("%+v is due without a pause", j)
		}
	})
}
