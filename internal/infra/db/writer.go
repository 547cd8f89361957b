package db

import (
	"context"
	"errors"
	"time"

	"foyer/internal/infra/db/queue"
	"foyer/internal/infra/db/sqlite"
)

// writer owns SQLite's only writing connection. Waiting transactions share a commit, because most of a commit is a wait
// for the disk; a single transaction is committed immediately. If one fails after it has written, the others are rolled
// back with it and run again without it: that is rare, while savepoints would cost every transaction a fifth of its time.
type writer struct {
	file  original
	conn  *conn
	queue *queue.Queue
}

func startWriter(ctx context.Context, path string) (*writer, error) {
	c, err := firstConn(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := newOriginal(path)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	w := &writer{file: file, conn: c}
	w.queue = queue.Start(w.share)
	return w, nil
}

// firstConn opens the connection. Servers that open a new database together get in each other's way while it is switched
// to WAL: SQLite refuses that without regard to busy_timeout.
func firstConn(ctx context.Context, path string) (*conn, error) {
	const (
		patience = 10 * time.Second
		pause    = 20 * time.Millisecond
	)
	for began := time.Now(); ; {
		c, err := sqlite.OpenOwn(path, writerPragmas(path)...)
		if err == nil {
			return &conn{Conn: c}, nil
		}
		if !sqlite.Says(err, sqlite.Busy) || time.Since(began) > patience {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// do makes the writer run fn, and returns once the result is on disk or rolled back.
func (w *writer) do(ctx context.Context, fn func() error) error {
	return withPathIfDamaged(w.file.path, w.queue.Do(ctx, fn))
}

func (w *writer) close() error {
	w.queue.Close()
	return w.conn.Close()
}

// maxBatch is how long the units of a batch may run before it is committed, so that others get their turn.
const maxBatch = 50 * time.Millisecond

// share runs the units of a batch in one commit. It returns how many, since the batch ends when one fails, or when it has
// taken long.
func (w *writer) share(units []*queue.Unit) (served int) {
	if rehearse {
		units = units[:w.rehearse(units)]
	}
	if err := w.begin(); err != nil {
		for _, u := range units {
			u.Err = err
		}
		return len(units)
	}
	broken := false
	for began := time.Now(); served < len(units) && !broken && (served == 0 || time.Since(began) < maxBatch); served++ {
		broken = w.attempt(units[served])
	}
	units = units[:served]
	if broken || w.addCounts() != nil {
		w.withoutFailed(units)
		return served
	}
	if err := w.commit(); err != nil {
		err = errors.Join(err, w.rollback())
		for _, u := range units {
			u.Err = errors.Join(u.Err, err)
		}
	}
	return served
}

// rehearse runs the units once before the real run, for as long as a batch may take, and rolls them back: tests show that
// what the functions leave behind outside the database does no harm. It returns how many it ran.
func (w *writer) rehearse(units []*queue.Unit) (ran int) {
	if w.conn.run(`BEGIN IMMEDIATE`) != nil {
		return len(units)
	}
	for began := time.Now(); ran < len(units) && (ran == 0 || time.Since(began) < maxBatch); ran++ {
		if w.conn.InTransaction() { // a full disk ends it
			w.attempt(units[ran])
		}
	}
	_ = w.rollback() // otherwise the next BEGIN fails
	return ran
}

// withoutFailed rolls back a batch in which a unit or its addition to a count failed. It runs the other units again in
// one commit, or, if that fails, each in its own.
func (w *writer) withoutFailed(units []*queue.Unit) {
	var others []*queue.Unit
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
		u.Err = w.together([]*queue.Unit{u}) // fails if the batch could not be rolled back
	}
}

// together runs all the units in one commit, or none.
func (w *writer) together(units []*queue.Unit) error {
	err := w.begin()
	if err != nil {
		return err
	}
	for i := 0; err == nil && i < len(units); i++ {
		w.attempt(units[i])
		err = units[i].Err
	}
	if err == nil {
		err = w.addCounts()
	}
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

// attempt calls u's function, and reports whether it failed with something to roll back. SQLite itself ends a transaction
// if, for example, the disk is full.
func (w *writer) attempt(u *queue.Unit) (broken bool) {
	changes, additions := w.conn.TotalChanges(), len(w.conn.additions)
	w.conn.failed = nil
	u.Err = u.Work()
	if u.Err == nil {
		u.Err = w.conn.failed
	}
	if u.Err == nil {
		return false
	}
	w.conn.additions = w.conn.additions[:additions]
	return !w.conn.InTransaction() || w.conn.TotalChanges() != changes
}

// addCounts runs the units' additions, with those to the same counts summed.
func (w *writer) addCounts() error {
	sums := sum(w.conn.additions)
	w.conn.additions = w.conn.additions[:0]
	for _, a := range sums {
		if err := w.conn.run(a.query, a.args()...); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) begin() error {
	if err := w.file.lost(); err != nil {
		return err
	}
	return w.conn.run(`BEGIN IMMEDIATE`)
}

func (w *writer) commit() error { return afterCommit(w.conn.run(`COMMIT`)) }

func (w *writer) rollback() error {
	w.conn.additions = w.conn.additions[:0]
	if !w.conn.InTransaction() {
		return nil
	}
	return w.conn.run(`ROLLBACK`)
}
