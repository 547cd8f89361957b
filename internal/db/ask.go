package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Ask is One for a caller with more to ask before the answer matters: on PostgreSQL
// all questions travel together, when the first answer is called for.
func Ask[T any](ctx context.Context, t *Tx, columns func(*T) []any, query string, args ...any) (answer func() (T, error)) {
	p, ok := t.session.(*postgresTx)
	if !ok {
		v, err := One(ctx, t, columns, query, args...)
		return func() (T, error) { return v, err }
	}
	t.db.statements.Add(1)
	var v T
	answered, err := false, ErrNoRow
	p.queue(query, args).Query(func(rows pgx.Rows) error {
		failed := each(rows, func(scan scanner) error {
			err = nil
			return scan(columns(&v)...)
		})
		answered = failed == nil
		return failed
	})
	return func() (T, error) {
		if !answered {
			if err := Flush(ctx, t); err != nil {
				return v, err
			}
		}
		if !answered {
			return v, errAborted
		}
		return v, err
	}
}
