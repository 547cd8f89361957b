package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// View runs queries that all see the database at the same moment. fn must use q and its own context, as in InTx.
func (d *DB) View(ctx context.Context, fn func(ctx context.Context, q Querier) error) error {
	if err := outside(ctx); err != nil {
		return err
	}
	within := context.WithValue(ctx, inside{}, true)
	traced := func(q Querier) error { return fn(within, snapshot{q, d}) }
	if d.sqlite != nil {
		return classify(d.sqlite.readers.do(ctx, func(c *conn) error { return c.view(traced) }))
	}
	return classify(d.postgres.view(ctx, traced))
}

// snapshot is the database as a View sees it; it counts and traces the statements.
type snapshot struct {
	Querier
	db *DB
}

func (s snapshot) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	return s.db.counted(ctx, query, func() error { return s.Querier.query(ctx, query, args, row) })
}

func (c *conn) view(fn func(q Querier) error) (err error) {
	if err := c.run(`BEGIN`); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.run(`ROLLBACK`)) }()
	return fn(c)
}

func (p *postgresDB) view(ctx context.Context, fn func(q Querier) error) (err error) {
	conn, err := p.Acquire(ctx, false)
	if err != nil {
		return err
	}
	defer p.Release(conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx))) }()
	return fn(postgresQuerier{tx})
}
