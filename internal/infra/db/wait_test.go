package db_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// However many transactions wait for a lock, queries get answers.
func TestQuestionsBesideWaiting(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, beside := dbtest.Open(t, url), dbtest.Open(t, url)
		locked := func(within func()) {
			if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				db.Lock(tx, "x")
				_, err := db.One[int](t.Context(), tx, nil, `SELECT 1`)
				within()
				return err
			}); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		held, end := make(chan struct{}), make(chan struct{})
		hold := sync.OnceFunc(func() { close(held); <-end })
		all.Go(func() { locked(hold) })
		<-held
		for range 2 * 20 {
			all.Go(func() { locked(func() {}) })
		}
		defer all.Wait()
		defer close(end)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for waiting := 0; strings.HasPrefix(url, "postgres:") && waiting < 9; {
			var err error
			waiting, err = dbtest.Waiting(ctx, beside)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.One[int](ctx, d, nil, `SELECT 1`); err != nil {
			t.Error(err)
		}
		canceled, cancelNow := context.WithCancel(ctx)
		cancelNow()
		if err := d.InTx(canceled, func(context.Context, *db.Tx) error { return nil }); err == nil {
			t.Error("a transaction was begun for nobody")
		}
	})
}
