package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"foyer/internal/db/queue"
)

// writer owns SQLite's one writing connection. Transactions that are waiting share
// a commit, because most of a commit is a wait for the disk; one that comes alone
// is committed at once. When one fails after it has written, the others are undone
// with it and run again without it: that is rare, while savepoints would cost every
// transaction a fifth of its time.
type writer struct {
	path  string
	conn  *conn
	queue *queue.Queue[*unit]
}

// unit is one caller's transaction.
type unit struct {
	queue.Turn
	tx *Tx
	fn func(*Tx) error
}

func startWriter(ctx context.Context, path string) (*writer, error) {
	c, err := firstConn(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &writer{path: path, conn: c}
	w.queue = queue.Start(w.share)
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
		c, err := openOwn(ctx, path, writerPragmas(path))
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
	return damaged(w.path, w.queue.Do(ctx, &unit{tx: tx, fn: fn}))
}

func (w *writer) close() error {
	w.queue.Close()
	return w.conn.Close()
}

// share runs the units of a batch in one commit.
func (w *writer) share(units []*unit) {
	if err := w.exec(`BEGIN IMMEDIATE`); err != nil {
		for _, u := range units {
			u.Err = err
		}
		return
	}
	broken := slices.ContainsFunc(units, func(u *unit) bool { return w.attempt(u) || w.conn.addLong() != nil })
	if broken || w.conn.settle() != nil {
		w.withoutFailed(units)
		return
	}
	if err := w.conn.Commit(); err != nil {
		err = errors.Join(err, w.rollback())
		for _, u := range units {
			u.Err = errors.Join(u.Err, err)
		}
	}
}

// withoutFailed undoes a batch that a unit has broken, or what it put off, and runs those
// that have not failed again, in one commit, or each in its own if that fails.
func (w *writer) withoutFailed(units []*unit) {
	var others []*unit
	for _, u := range units {
		if u.Err == nil {
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
		u.Err = w.together([]*unit{u}) // fails if the batch could not be undone
	}
}

// together runs all of some units in one commit, or none.
func (w *writer) together(units []*unit) error {
	err := w.exec(`BEGIN IMMEDIATE`)
	if err != nil {
		return err
	}
	for i := 0; err == nil && i < len(units); i++ {
		w.attempt(units[i])
		if err = units[i].Err; err == nil {
			err = w.conn.addLong()
		}
	}
	if err == nil {
		err = w.conn.settle()
	}
	if err == nil {
		err = w.conn.Commit()
	}
	if err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

// attempt calls u's function, and reports whether it failed with something to undo. SQLite
// ends a transaction by itself if, for example, the disk is full.
func (w *writer) attempt(u *unit) (broken bool) {
	changes, late := w.conn.TotalChanges(), w.conn.late
	u.Err = safely(func() error { return u.fn(u.tx) })
	ended := !w.conn.InTransaction()
	if ended && u.Err == nil {
		u.Err = errAborted
	}
	if u.Err == nil {
		return false
	}
	w.conn.late = late
	return ended || w.conn.TotalChanges() != changes
}

// safely calls fn and turns a panic into its error: this goroutine serves others too.
func safely(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

func (w *writer) rollback() error {
	w.conn.late = late{}
	if !w.conn.InTransaction() {
		return nil
	}
	return w.exec(`ROLLBACK`)
}

func (w *writer) exec(statement string) error {
	return w.conn.run(context.Background(), statement, nil)
}
