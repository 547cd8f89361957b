package db

import (
	"context"
	"errors"
)

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
