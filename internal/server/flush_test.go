package server

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A stop does not wait long for a database that does not answer, even if it comes during a flush.
func TestFlushEnds(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		for _, stopAfter := range []time.Duration{flushEvery / 2, flushEvery + flushTime/2} {
			synctest.Test(t, func(t *testing.T) {
				d := dbtest.Open(t, url)
				answers := dbtest.Hang(t, d)
				ask := func(ctx context.Context) error {
					_, err := db.One[int](ctx, d, nil, `SELECT 1`)
					return err
				}
				begin := time.Now()
				ctx, stop := context.WithTimeout(t.Context(), stopAfter)
				defer stop()
				Server{Log: slog.New(slog.DiscardHandler)}.flush(ctx, ask, ask)
				if took := time.Since(begin) - stopAfter; took != flushTime {
					t.Errorf("it took %v", took)
				}
				answers()
			})
		}
	})
}

// Notes are stored although others cannot be.
func TestFlushesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun time.Duration
		begin := time.Now()
		waits := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		stores := func(ctx context.Context) error {
			begun = time.Since(begin)
			return ctx.Err()
		}
		Server{Log: slog.New(slog.DiscardHandler)}.flushOnce(t.Context(), []func(context.Context) error{waits, stores})
		if begun != 0 {
			t.Errorf("it began after %v", begun)
		}
	})
}
