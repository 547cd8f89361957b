package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// writer owns SQLite's one writing connection. Transactions that are waiting
// share a commit, because a commit is a wait for the disk that many can share;
// one that comes alone is committed at once. Each has a savepoint of its own: one
// that fails takes no other along.
type writer struct {
	pool  *sql.DB
	conn  *sql.Conn
	stmts stmts
	queue chan *unit
	quit  chan struct{}
	done  chan struct{}
	once  sync.Once
}

// unit is one caller's transaction, waiting for its turn.
type unit struct {
	fn     func(*Tx) error
	err    error
	answer chan struct{}
}

var errClosed = errors.New("the database is closed")

// maxShared is how many transactions share a commit at most, so that the first
// does not wait for ever.
const maxShared = 64

func startWriter(ctx context.Context, dsn string) (*writer, error) {
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	conn, err := firstConn(ctx, pool)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	w := &writer{pool: pool, conn: conn, queue: make(chan *unit), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run(uninterrupted(ctx))
	return w, nil
}

// firstConn opens the connection. Servers that open a new database at once get in
// each other's way while it is switched to WAL, which SQLite refuses without
// heeding busy_timeout.
func firstConn(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	const (
		tries = 500
		pause = 20 * time.Millisecond
	)
	for try := 1; ; try++ {
		conn, err := pool.Conn(uninterrupted(ctx))
		if err == nil || !isBusy(err) || try == tries {
			return conn, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// do has the writer run fn, and returns once that is on disk or undone.
func (w *writer) do(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &unit{fn: fn, answer: make(chan struct{})}
	select {
	case w.queue <- u:
		<-u.answer
		return u.err
	case <-ctx.Done():
		return ctx.Err()
	case <-w.quit:
		return errClosed
	}
}

func (w *writer) close() error {
	w.once.Do(func() { close(w.quit) })
	<-w.done
	return errors.Join(w.stmts.close(), w.conn.Close(), w.pool.Close())
}

func (w *writer) run(ctx context.Context) {
	defer close(w.done)
	batch := make([]*unit, 0, maxShared)
	for {
		select {
		case u := <-w.queue:
			batch = w.share(ctx, append(batch[:0], u))
			for _, u := range batch {
				close(u.answer)
			}
		case <-w.quit:
			return
		}
	}
}

// share runs the one unit of batch and all that wait by then in one commit.
func (w *writer) share(ctx context.Context, batch []*unit) []*unit {
	first := batch[0]
	if first.err = w.exec(ctx, `BEGIN IMMEDIATE`); first.err != nil {
		return batch
	}
	if first.err = w.attempt(first); first.err != nil {
		first.err = errors.Join(first.err, w.exec(ctx, `ROLLBACK`))
		return batch
	}
	for len(batch) < maxShared {
		select {
		case u := <-w.queue:
			batch = append(batch, u)
			u.err = w.savepoint(ctx, u)
			continue
		default:
		}
		break
	}
	if err := w.exec(ctx, `COMMIT`); err != nil {
		err = errors.Join(err, w.exec(ctx, `ROLLBACK`))
		for _, u := range batch {
			u.err = errors.Join(u.err, err)
		}
	}
	return batch
}

func (w *writer) savepoint(ctx context.Context, u *unit) error {
	if err := w.exec(ctx, `SAVEPOINT unit`); err != nil {
		return err
	}
	if err := w.attempt(u); err != nil {
		return errors.Join(err, w.exec(ctx, `ROLLBACK TO unit`), w.exec(ctx, `RELEASE unit`))
	}
	return w.exec(ctx, `RELEASE unit`)
}

// attempt calls u's function; its panic is its own, not the writer's.
func (w *writer) attempt(u *unit) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return u.fn(&Tx{run: w})
}

func (w *writer) exec(ctx context.Context, statement string) error {
	_, err := w.ExecContext(ctx, statement)
	return err
}

// QueryContext runs a prepared query on the writing connection.
func (w *writer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := w.stmts.get(ctx, w.conn, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	return s.QueryContext(uninterrupted(ctx), args...)
}

// ExecContext runs a prepared statement on the writing connection.
func (w *writer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := w.stmts.get(ctx, w.conn, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	return s.ExecContext(uninterrupted(ctx), args...)
}
