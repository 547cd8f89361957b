package db

import (
	"context"
	"errors"
)

// errDryRun rolls back the transaction of a dry run.
var errDryRun = errors.New("a dry run")

// undone returns a transaction's function that is always rolled back.
func undone(fn func(ctx context.Context, tx *Tx) error) func(ctx context.Context, tx *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if _, err := One[int](ctx, tx, nil, `SELECT 1`); err != nil { // an error of a statement that was sent with this one
			return err
		}
		return errDryRun
	}
}
