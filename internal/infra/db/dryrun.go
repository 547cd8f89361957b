package db

import (
	"context"
	"errors"
)

// rehearsed marks the context of a dry run.
type rehearsed struct{}

// WithDryRun returns a context in which each transaction is undone at its end, and then counts as
// committed. What it queued, such as jobs, is undone with it.
func WithDryRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsed{}, true)
}

// IsDryRun reports whether a context is that of a dry run.
func IsDryRun(ctx context.Context) bool { return ctx.Value(rehearsed{}) != nil }

// errDryRun undoes the transaction of a dry run.
var errDryRun = errors.New("a dry run")

// undone is a transaction's function that does not want it committed.
func undone(fn func(ctx context.Context, tx *Tx) error) func(ctx context.Context, tx *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if _, err := One(ctx, tx, Value[int], `SELECT 1`); err != nil { // of what travels with the next statement
			return err
		}
		return errDryRun
	}
}
