// Package dryrun says of a request that it changes nothing: it makes all checks, and what it
// stores is undone.
package dryrun

import "context"

type key struct{}

// With returns the context of a dry run: each transaction is undone at its end, and then counts as
// committed. What it queued, such as jobs, is undone with it.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether a context is that of a dry run, which must not show what it makes up, such as
// a token.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
