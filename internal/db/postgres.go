package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// forUpdate makes a SELECT lock its rows.
const forUpdate = " FOR UPDATE"

// asked is a pool of connections, or a transaction.
type asked interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

func queryOn(ctx context.Context, on asked, query string, args []any, row func(scan scanner) error) error {
	rows, err := on.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return each(rows, row)
}

// query is queryOn on any connection of the pool. If row fails, the connection is given
// up: it could be used again only after it had brought all other rows.
func (p *postgresDB) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	ctx, giveUp := context.WithTimeout(ctx, p.patience)
	defer giveUp()
	return queryOn(ctx, p.pool, query, args, func(scan scanner) error {
		err := row(scan)
		if err != nil {
			giveUp()
		}
		return err
	})
}

func each(rows pgx.Rows, row func(scan scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// postgresTx is a transaction under way. Statements whose results nobody waits for,
// BEGIN among them, travel with the next one: each trip to the server costs more than
// the statement.
type postgresTx struct {
	conn  *pgxpool.Conn
	begun bool
	batch pgx.Batch // not sent yet
}

// do runs fn with tx, on a connection and in a part that no other transaction has.
func (p *postgresDB) do(ctx context.Context, tx *Tx, fn func(*Tx) error) (err error) {
	select {
	case tx.Part = <-p.parts:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.parts <- tx.Part }()
	conn, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	defer release(conn)
	session := &postgresTx{conn: conn}
	tx.session = session
	done := false
	defer func() {
		if !done {
			err = errors.Join(err, session.rollback(context.WithoutCancel(ctx)))
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := session.commit(ctx); err != nil {
		return err
	}
	done = true
	return nil
}

// acquire waits for a connection, which stops working if it is not released in time.
func (p *postgresDB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	setDeadline(conn, time.Now().Add(p.patience))
	return conn, nil
}

func release(conn *pgxpool.Conn) {
	setDeadline(conn, time.Time{})
	conn.Release()
}

// setDeadline fails only on a closed connection, whose next use fails too.
func setDeadline(conn *pgxpool.Conn, at time.Time) { _ = conn.Conn().PgConn().Conn().SetDeadline(at) }

func (t *postgresTx) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	t.queue(query, args).Query(func(rows pgx.Rows) error { return each(rows, row) })
	return t.send(ctx)
}

func (t *postgresTx) exec(ctx context.Context, query string, args []any) (changed int64, err error) {
	t.queue(query, args).Exec(func(tag pgconn.CommandTag) error {
		changed = tag.RowsAffected()
		return nil
	})
	err = t.send(ctx)
	return changed, err
}

func (t *postgresTx) run(_ context.Context, query string, args []any) error {
	t.queue(query, args)
	return nil
}

// queue puts a statement off until the next send.
func (t *postgresTx) queue(query string, args []any) *pgx.QueuedQuery {
	if !t.begun && t.batch.Len() == 0 {
		t.batch.Queue("BEGIN")
	}
	return t.batch.Queue(query, args...)
}

// send sends what is queued, and reads the results.
func (t *postgresTx) send(ctx context.Context) error {
	batch := t.batch
	t.batch, t.begun = pgx.Batch{}, true
	return t.conn.SendBatch(ctx, &batch).Close()
}

func (t *postgresTx) commit(ctx context.Context) error {
	if !t.begun && t.batch.Len() == 0 {
		return nil
	}
	t.queue("COMMIT", nil).Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return errAborted
		}
		return nil
	})
	return t.send(ctx)
}

// errAborted means that a statement failed and the function went on regardless.
var errAborted = errors.New("the transaction was rolled back, for one of its statements had failed")

func (t *postgresTx) rollback(ctx context.Context) error {
	if !t.begun || t.conn.Conn().IsClosed() {
		return nil
	}
	_, err := t.conn.Exec(ctx, "ROLLBACK")
	return err
}

// Lock makes other transactions that lock the same name wait until this one has ended.
// On SQLite all wait anyway.
func Lock(ctx context.Context, t *Tx, name string) error {
	return t.lock(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, name)
}

// LockRows locks the rows of a SELECT until this transaction ends. It does not wait
// itself: on PostgreSQL the next statement does, and sees what others committed before.
func LockRows(ctx context.Context, t *Tx, query string, args ...any) error {
	return t.lock(ctx, query+t.ForUpdate, args...)
}

func (t *Tx) lock(ctx context.Context, query string, args ...any) error {
	switch s := t.session.(type) {
	case *postgresTx:
		return s.run(ctx, query, args)
	case *load, blind:
		return errBlind
	}
	return nil
}
