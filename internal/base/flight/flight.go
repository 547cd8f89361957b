// Package flight shares one run of some work among all callers that want it at the same time.
package flight

import (
	"context"

	"golang.org/x/sync/singleflight"

	"foyer/internal/base/panics"
)

// Group shares work by key. The zero Group is ready.
type Group[T any] struct{ calls singleflight.Group }

// Do returns the result of work, which may have started for another caller. Any caller may leave; the work goes on
// without it, even if it started for that caller.
func (g *Group[T]) Do(ctx context.Context, key string, work func(context.Context) (T, error)) (T, error) {
	done := g.calls.DoChan(key, func() (v any, err error) {
		err = panics.Catch(func() (err error) { // no caller could recover: singleflight panics on a goroutine of its own
			v, err = work(context.WithoutCancel(ctx))
			return err
		})
		return v, err
	})
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case shared := <-done:
		v, _ := shared.Val.(T)
		return v, shared.Err
	}
}
