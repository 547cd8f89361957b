package dbtest

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"foyer/internal/base/purpose"
	"foyer/internal/infra/db"
)

// Hang makes a database block all callers until answers is called. It is for a synctest bubble in which the database was
// opened.
func Hang(tb testing.TB, d *db.DB) (answers func()) {
	tb.Helper()
	var held sync.WaitGroup
	end := make(chan struct{})
	for i := range max(20, 2*runtime.GOMAXPROCS(0)) { // the number of its connections, on either engine
		ctx := purpose.With(tb.Context(), strconv.Itoa(i)) // a single purpose would leave some connections free
		held.Go(func() {
			err := d.View(ctx, func(context.Context, db.Querier) error {
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
