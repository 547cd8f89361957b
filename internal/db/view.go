package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"foyer/internal/page"
)

// View runs queries that all see the database at the same moment. fn must use q, never
// d.
func (d *DB) View(ctx context.Context, fn func(q Querier) error) error {
	counted := func(q Querier) error { return fn(moment{q, d}) }
	if d.sqlite != nil {
		return d.sqlite.readers.view(ctx, counted)
	}
	return classify(d.postgres.view(ctx, counted))
}

// Page reads a page of a list and how long the list is, as of one moment: a change in between
// could end somebody's walk early, with a count that never was.
func Page[T any](ctx context.Context, d *DB, p page.Page, count func(Querier) (int, error), list func(Querier) ([]T, error)) (found page.Found[T], err error) {
	err = d.View(ctx, func(q Querier) (err error) {
		found, err = PageIn(q, p, count, list)
		return err
	})
	return found, err
}

// PageIn is Page inside a View.
func PageIn[T any](q Querier, p page.Page, count func(Querier) (int, error), list func(Querier) ([]T, error)) (page.Found[T], error) {
	n, err := count(q)
	if err != nil || p.Beyond(n) {
		return page.Found[T]{Count: n}, err
	}
	items, err := list(q)
	return page.Counted(items, p, n), err
}

// moment is the database as a View sees it.
type moment struct {
	Querier
	db *DB
}

func (m moment) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	m.db.statements.Add(1)
	return m.Querier.query(ctx, query, args, row)
}

func (r *readers) view(ctx context.Context, fn func(q Querier) error) error {
	c, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer r.leave(c)
	return damaged(r.path, c.view(ctx, fn))
}

func (c *conn) view(ctx context.Context, fn func(q Querier) error) (err error) {
	if err := c.run(ctx, `BEGIN`, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.run(ctx, `ROLLBACK`, nil)) }()
	return fn(c)
}

// postgresView is a transaction that only reads.
type postgresView struct{ tx pgx.Tx }

func (v postgresView) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	return queryOn(ctx, v.tx, query, args, row)
}

func (p *postgresDB) view(ctx context.Context, fn func(q Querier) error) (err error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer release(conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx))) }()
	return fn(postgresView{tx})
}
