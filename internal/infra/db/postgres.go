package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"foyer/internal/infra/db/postgres"
)

const (
	// maxAnswer is the timeout of a query, and of each trip of a transaction once it has a connection: TCP itself waits a
	// quarter of an hour for a host that has vanished.
	maxAnswer = 30 * time.Second
	// maxMigration replaces maxAnswer while the schema is migrated, which may change all rows.
	maxMigration = 24 * time.Hour
)

// postgresDB is a database on a server.
type postgresDB struct{ *postgres.Pool }

// postgresQuerier is a connection or a transaction.
type postgresQuerier struct {
	on interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (q postgresQuerier) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	rows, err := q.on.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return each(rows, row)
}

// query runs a query on any connection of the pool. If row fails, the connection is closed: it could only be reused
// after receiving all other rows.
func (p *postgresDB) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	conn, err := p.Acquire(ctx, false)
	if err != nil {
		return err
	}
	defer p.Release(conn)
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	return postgresQuerier{conn}.query(ctx, query, args, func(scan scanner) error {
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

// postgresTx is a running transaction. BEGIN, locks, and statements without a result are sent with the next statement
// that has one, and additions to counts with COMMIT: each round trip to the server costs more than the statement.
type postgresTx struct {
	conn      postgres.Conn
	begun     bool
	batch     pgx.Batch // not sent yet
	failed    bool      // a statement has failed; those sent with it may not have been run at all
	additions []addition
}

// do runs fn with tx, on a connection and with a shard of its own.
func (p *postgresDB) do(ctx context.Context, tx *Tx, fn func() error) (err error) {
	conn, err := p.Acquire(ctx, true)
	if err != nil {
		return err
	}
	defer p.Release(conn)
	session := &postgresTx{conn: conn}
	tx.session, tx.Shard = session, conn.Shard
	done := false
	defer func() {
		if !done {
			err = errors.Join(err, session.rollback(context.WithoutCancel(ctx)))
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := session.commit(ctx); err != nil {
		return err
	}
	done = true
	return nil
}

func (t *postgresTx) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	t.queue(query, args).Query(func(rows pgx.Rows) error { return each(rows, row) })
	return t.send(ctx)
}

func (t *postgresTx) exec(ctx context.Context, query string, args []any) error {
	if t.queue(query, args); t.batch.Len() >= maxQueued {
		return t.send(ctx)
	}
	return nil
}

func (t *postgresTx) changed(ctx context.Context, query string, args []any) (changed int64, err error) {
	t.queue(query, args).Exec(func(tag pgconn.CommandTag) error {
		changed = tag.RowsAffected()
		return nil
	})
	err = t.send(ctx)
	return changed, err
}

func (t *postgresTx) insert(ctx context.Context, query string, args []any) (id int64, err error) {
	err = t.query(ctx, query+" RETURNING id", args, func(scan scanner) error { return scan(&id) })
	if err == nil && id == 0 {
		err = ErrNoRow
	}
	return id, err
}

// maxQueued is how many statements are sent together at most: they are kept in memory until then.
const maxQueued = 100

func (t *postgresTx) add(a addition) { t.additions = append(t.additions, a) }

func (t *postgresTx) lock(name string) {
	t.queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, []any{name})
}

// queue delays a statement until the next send.
func (t *postgresTx) queue(query string, args []any) *pgx.QueuedQuery {
	if !t.begun && t.batch.Len() == 0 {
		t.batch.Queue("BEGIN")
	}
	return t.batch.Queue(query, args...)
}

// send sends the queued statements and reads the results. A transaction may take as long as the server answers: a
// change of an app changes all sites that follow it. Once one has failed, nothing more is sent.
func (t *postgresTx) send(ctx context.Context) error {
	if t.failed {
		return errAborted
	}
	t.conn.Extend()
	batch := t.batch
	t.batch, t.begun = pgx.Batch{}, true
	err := t.conn.SendBatch(ctx, &batch).Close()
	t.failed = err != nil && !errors.Is(err, errEnough)
	return err
}

func (t *postgresTx) commit(ctx context.Context) error {
	additions := sum(t.additions)
	slices.SortFunc(additions, addition.compare) // all transactions lock rows in the same order
	for _, a := range additions {
		t.queue(a.query, a.args())
	}
	if !t.begun && t.batch.Len() == 0 {
		return nil
	}
	skipped := true
	t.queue("COMMIT", nil).Fn = func(results pgx.BatchResults) error {
		skipped = false
		tag, err := results.Exec()
		if err == nil && tag.String() != "COMMIT" {
			return errAborted
		}
		return err
	}
	err := t.send(ctx)
	if _, ok := errors.AsType[*pgconn.PgError](err); ok && skipped {
		return err // the error of a statement that was sent with it
	}
	return afterCommit(err)
}

// errAborted means that a statement failed and the function continued regardless.
var errAborted = errors.New("the transaction was rolled back, for one of its statements had failed")

func (t *postgresTx) rollback(ctx context.Context) error {
	if !t.begun || t.conn.Conn.Conn().IsClosed() {
		return nil
	}
	_, err := t.conn.Exec(ctx, "ROLLBACK")
	return err
}
