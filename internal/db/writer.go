package db

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// writer owns SQLite's one writing connection. Transactions that are waiting
// share a commit, because a commit is a wait for the disk that many can share;
// one that comes alone is committed at once. When one fails after it has written,
// the others are undone with it and run again without it: that is rare, while a
// savepoint for each would cost every one of them a fifth of its time.
type writer struct {
	conn  *conn
	queue chan *unit
	quit  chan struct{}
	done  chan struct{}
}

// unit is one caller's transaction, waiting for its turn.
type unit struct {
	tx     *Tx
	fn     func(*Tx) error
	err    error
	answer chan struct{}
}

var errClosed = errors.New("the database is closed")

// maxShared is how many transactions share a commit at most, so that the first
// does not wait for ever.
const maxShared = 64

func startWriter(ctx context.Context, path string) (*writer, error) {
	c, err := firstConn(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: c, queue: make(chan *unit), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w, nil
}

// firstConn opens the connection. Servers that open a new database at once get in
// each other's way while it is switched to WAL, which SQLite refuses without
// heeding busy_timeout.
func firstConn(ctx context.Context, path string) (*conn, error) {
	const (
		tries = 500
		pause = 20 * time.Millisecond
	)
	for try := 1; ; try++ {
		c, err := openConn(path, writerPragmas...)
		if err == nil || !isBusy(err) || try == tries {
			return c, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// do has the writer run fn, and returns once that is on disk or undone.
func (w *writer) do(ctx context.Context, tx *Tx, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &unit{tx: tx, fn: fn, answer: make(chan struct{})}
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
	close(w.quit)
	<-w.done
	return w.conn.Close()
}

func (w *writer) run() {
	defer close(w.done)
	batch := make([]*unit, 0, maxShared)
	for {
		select {
		case u := <-w.queue:
			batch = w.share(append(batch[:0], u))
			for _, u := range batch {
				close(u.answer)
			}
			clear(batch)
		case <-w.quit:
			return
		}
	}
}

// share runs the one unit of batch, and all that come before it is done, in one
// commit.
func (w *writer) share(batch []*unit) []*unit {
	if batch[0].err = w.exec(`BEGIN IMMEDIATE`); batch[0].err != nil {
		return batch
	}
	for i := 0; i < len(batch); i++ {
		if broken := w.attempt(batch[i]); broken {
			w.withoutFailed(batch)
			return batch
		}
		if len(batch) < maxShared {
			if u, ok := waiting(w.queue); ok {
				batch = append(batch, u)
			}
		}
	}
	if err := w.commit(); err != nil {
		for _, u := range batch {
			u.err = errors.Join(u.err, err)
		}
	}
	return batch
}

// waiting is what waits to be taken from a queue, if there is anything. Before it says
// no, whoever is ready to run gets a turn, and may come with something: a commit costs
// more than a few turns.
func waiting[T any](queue <-chan T) (next T, ok bool) {
	for range 2 {
		select {
		case next = <-queue:
			return next, true
		default:
			runtime.Gosched()
		}
	}
	return next, false
}

// withoutFailed undoes a batch that a unit has broken, and runs the others again, in
// one commit, or each in its own if that fails.
func (w *writer) withoutFailed(batch []*unit) {
	var others []*unit
	for _, u := range batch {
		if u.err == nil {
			others = append(others, u)
		}
	}
	err := w.rollback()
	if err == nil && len(others) > 0 {
		err = w.together(others)
	}
	if err == nil {
		return
	}
	for _, u := range others {
		u.err = w.together([]*unit{u}) // fails if the batch could not be undone
	}
}

// together runs all of some units in one commit, or none.
func (w *writer) together(units []*unit) error {
	if err := w.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, u := range units {
		u.err = nil
		if w.attempt(u); u.err != nil {
			return errors.Join(u.err, w.rollback())
		}
	}
	return w.commit()
}

// attempt calls u's function, and reports whether it has failed with something to be
// undone; its panic is its own, not the writer's. SQLite ends a transaction by itself
// when the disk is full, for one.
func (w *writer) attempt(u *unit) (broken bool) {
	changes, additions := w.conn.TotalChanges(), len(w.conn.additions)
	defer func() {
		if p := recover(); p != nil {
			u.err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
		ended := !w.conn.InTransaction()
		if ended && u.err == nil {
			u.err = errAborted
		}
		if u.err != nil {
			w.conn.additions = w.conn.additions[:additions]
			broken = ended || w.conn.TotalChanges() != changes
		}
	}()
	u.err = u.fn(u.tx)
	return false // set above
}

func (w *writer) commit() error {
	err := w.conn.addUp()
	if err == nil {
		err = w.conn.Commit()
	}
	if err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

func (w *writer) rollback() error {
	w.conn.additions = w.conn.additions[:0]
	if !w.conn.InTransaction() {
		return nil
	}
	return w.exec(`ROLLBACK`)
}

func (w *writer) exec(statement string) error {
	return w.conn.run(context.Background(), statement, nil)
}
