package db_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
)

// However many transactions wait for a lock, questions are answered.
func TestQuestionsBesideWaiting(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, beside := dbtest.Open(t, url), dbtest.Open(t, url)
		locked := func(within func()) {
			if err := d.InTx(t.Context(), func(tx *db.Tx) error {
				if err := db.Lock(t.Context(), tx, "x"); err != nil {
					return err
				}
				_, err := db.One(t.Context(), tx, db.Value[int], `SELECT 1`)
				within()
				return err
			}); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		held, end := make(chan struct{}), make(chan struct{})
		all.Go(func() { locked(func() { close(held); <-end }) })
		<-held
		for range 2 * 20 {
			all.Go(func() { locked(func() {}) })
		}
		defer all.Wait()
		defer close(end)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for waiting := 0; strings.HasPrefix(url, "postgres:") && waiting < 15; {
			var err error
			waiting, err = db.One(ctx, beside, db.Value[int], `
				SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.One(ctx, db.Quick(d), db.Value[int], `SELECT 1`); err != nil {
			t.Error("a quick question:", err)
		}
		if err := d.Ping(ctx); err != nil {
			t.Error("another question:", err)
		}
		canceled, cancelNow := context.WithCancel(ctx)
		cancelNow()
		if err := d.InTx(canceled, func(*db.Tx) error { return nil }); err == nil {
			t.Error("a transaction was begun for nobody")
		}
	})
}
