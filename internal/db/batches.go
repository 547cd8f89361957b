package db

import "context"

// InBatches does work that is too much for one transaction: list names the things to
// work on, and batch does part of the work on one of them and returns how much it did.
// Each gets another turn until nothing is left to do.
func InBatches[T any](ctx context.Context, d *DB, list func() ([]T, error), batch func(*Tx, T) (int64, error)) error {
	for more := true; more; {
		all, err := list()
		if err != nil {
			return err
		}
		more = false
		for _, v := range all {
			var n int64
			err := d.InTx(ctx, func(tx *Tx) (err error) {
				n, err = batch(tx, v)
				return err
			})
			if err != nil {
				return err
			}
			more = more || n > 0
		}
	}
	return nil
}
