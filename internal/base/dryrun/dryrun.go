// Package dryrun marks a request as a dry run: it makes all checks, and its changes are rolled back.
package dryrun

import "context"

type key struct{}

// With returns the context of a dry run: each transaction is rolled back at its end and reported as committed. Whatever
// it enqueued, such as jobs, is rolled back too.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether a context belongs to a dry run, which must not show generated values such as tokens.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
