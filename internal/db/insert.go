package db

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Insert runs an INSERT of one row, and returns the id that the row gets.
func Insert(ctx context.Context, t *Tx, query string, args ...any) (id int64, err error) {
	if err := InsertLater(ctx, t, &id, query, args...); err != nil {
		return 0, err
	}
	err = Flush(ctx, t)
	return id, err
}

// InsertLater is Insert for an id that nobody needs before the commit, which sets it:
// on PostgreSQL the statement travels with the next one.
func InsertLater(ctx context.Context, t *Tx, id *int64, query string, args ...any) error {
	t.db.statements.Add(1)
	return classify(t.insertLater(ctx, id, query, args))
}

// Flush runs the statements that were put off, and so sets the ids of
// InsertLater.
func Flush(ctx context.Context, t *Tx) error {
	switch s := t.session.(type) {
	case *postgresTx:
		if s.batch.Len() > 0 {
			return classify(s.send(ctx))
		}
	case *load, blind:
		return errBlind
	}
	return nil
}

const returningID = " RETURNING id"

func (t *postgresTx) insertLater(_ context.Context, id *int64, query string, args []any) error {
	t.queue(query+returningID, args).Query(func(rows pgx.Rows) error {
		return each(rows, func(scan scanner) error { return scan(id) })
	})
	return nil
}

// insertLater avoids RETURNING, for which SQLite builds a table and a journal.
func (c *conn) insertLater(ctx context.Context, id *int64, query string, args []any) error {
	if err := c.run(ctx, query, args); err != nil {
		return err
	}
	*id = c.LastInsertID()
	return nil
}
