package dbtest

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"foyer/internal/db"
)

// Hang makes a database keep all callers waiting until answers is called. It is for a
// synctest bubble, in which the database was opened.
func Hang(tb testing.TB, d *db.DB) (answers func()) {
	tb.Helper()
	var held sync.WaitGroup
	end := make(chan struct{})
	for range 20 + 2*runtime.GOMAXPROCS(0) { // more than it has connections, on either engine
		held.Go(func() {
			err := d.View(tb.Context(), func(db.Querier) error {
				<-end
				return nil
			})
			if err != nil {
				tb.Error(err)
			}
		})
	}
	synctest.Wait()
	return func() {
		close(end)
		held.Wait()
	}
}
