// Package precondition carries a request's expectation of the object that it changes to the code that locks this object:
// if two requests expect the same, only one succeeds.
package precondition

import "context"

type key struct{}

type expectation struct {
	check   func(object any) error
	checked bool
}

// With returns a context in which Check calls check with each object before it is changed.
func With(ctx context.Context, check func(object any) error) context.Context {
	return context.WithValue(ctx, key{}, &expectation{check: check})
}

// Given reports whether the context has a check.
func Given(ctx context.Context) bool { return ctx.Value(key{}) != nil }

// Forgotten reports whether the context has a check that was never made.
func Forgotten(ctx context.Context) bool {
	e, ok := ctx.Value(key{}).(*expectation)
	return ok && !e.checked
}

// Check fails if a locked object is not what the request expects.
func Check[T any](ctx context.Context, object T) error {
	e, ok := ctx.Value(key{}).(*expectation)
	if !ok {
		return nil
	}
	e.checked = true
	return e.check(object)
}
