// Package precondition carries what a request expects of the object that it changes, to where
// that object is locked: of two who expect the same, only one finds it.
package precondition

import "context"

type key struct{}

// With returns a context in which Check asks check about each object that is going to be changed.
func With(ctx context.Context, check func(object any) error) context.Context {
	return context.WithValue(ctx, key{}, check)
}

// Given reports whether Check would ask anything.
func Given(ctx context.Context) bool { return ctx.Value(key{}) != nil }

// Check fails if an object, which is locked, is not what the request expects.
func Check[T any](ctx context.Context, object T) error {
	check, ok := ctx.Value(key{}).(func(any) error)
	if !ok {
		return nil
	}
	return check(object)
}
