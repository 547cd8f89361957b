// Package flight does work once for all who want it at the same time.
package flight

import (
	"context"
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/singleflight"
)

// Group is work that is shared, by key. The zero Group is ready.
type Group[T any] struct{ calls singleflight.Group }

// Do returns what work returns, which may have begun for another caller. Each caller may
// leave; the work goes on without the one it began for.
func (g *Group[T]) Do(ctx context.Context, key string, work func(context.Context) (T, error)) (T, error) {
	done := g.calls.DoChan(key, func() (v any, err error) {
		defer func() {
			if p := recover(); p != nil { // nobody above could: singleflight panics on a goroutine of its own
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return work(context.WithoutCancel(ctx))
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
