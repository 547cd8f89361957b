package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/base/purpose"
	"foyer/internal/infra/db/postgres"
	"foyer/internal/infra/db/sqlite"
)

// failedFor is how long a database counts as failing after a failed change, unless a later change succeeds.
const failedFor = 10 * time.Second

// errLost says how to save the data: a stop closes the file, and a file without a name is then lost.
var errLost = fmt.Errorf("the database's file was removed or replaced while the server runs: do not stop the server yet, "+
	"but copy the file and its -wal from /proc/%d/fd first; then stop it, put both back or restore a backup, and start it", os.Getpid())

// Ready checks whether requests would succeed: it reads a page, takes the lock that changes take, and fails if the last
// change failed a short time ago, or once ctx is done. Those who ask at the same time share one check: each waits for the
// disk, and anybody may ask.
func (d *DB) Ready(ctx context.Context) error {
	if err := d.Lost(); err != nil {
		return err
	}
	if f := d.failed.Load(); f != nil {
		if age := d.Now().Sub(f.at); age >= 0 && age < failedFor { // negative: the clock has stepped back
			return fmt.Errorf("the last change was not kept: %w", f.err)
		}
	}
	// SQLite waits for the lock of another process, whatever ctx says.
	_, err := d.checks.Do(ctx, "", func(ctx context.Context) (struct{}, error) { return struct{}{}, d.check(ctx) })
	return classify(err)
}

// checkTime is how long a check may take.
const checkTime = 5 * time.Second

// check reads a page and takes the lock.
func (d *DB) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(purpose.With(inflight.Uncounted(ctx), "ready"), checkTime)
	defer cancel()
	const first = `SELECT name FROM migrations ORDER BY name LIMIT 1`
	if _, err := One[string](ctx, d, nil, first); err != nil {
		return err
	}
	return d.inTx(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := One[string](ctx, tx, nil, first+" FOR UPDATE")
		return err
	})
}

// failure is a change that failed.
type failure struct {
	at  time.Time
	err error
}

// noteOutcome records whether the database keeps changes.
func (d *DB) noteOutcome(err error) {
	switch {
	case err == nil:
		d.failed.Store(nil)
	case broken(err):
		d.failed.Store(&failure{d.Now(), err})
	}
}

// broken reports whether err is likely to affect all changes, and not just this one because its client disconnected.
func broken(err error) bool {
	if _, unsure := errors.AsType[uncertain](err); unsure {
		return !errors.Is(err, context.Canceled)
	}
	return postgres.Says(err, postgres.ReadOnly, postgres.DiskFull, postgres.SystemError) ||
		sqlite.Says(err, sqlite.ReadOnly, sqlite.IOError, sqlite.Full, sqlite.CannotOpen)
}

// Lost fails if the file of a SQLite database is no longer the one that was opened: changes would be lost with the last
// process that has it open.
func (d *DB) Lost() error {
	if d.sqlite == nil {
		return nil
	}
	return d.sqlite.writer.file.lost()
}

// original identifies a file as it was when it was opened.
type original struct {
	path string
	info fs.FileInfo
}

func newOriginal(path string) (original, error) {
	info, err := os.Stat(path)
	return original{path, info}, err
}

func (o original) lost() error {
	now, err := os.Stat(o.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, o.info) {
		return fmt.Errorf("%s: %w", o.path, errLost)
	}
	return err
}
