package db

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// On every connection a commit is on disk when it returns, a lock that another
// process holds is waited for, and the journal is copied into the database every
// 64 MB: a page that changes again and again is copied once.
var (
	sqlitePragmas = []string{
		"busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON",
		"temp_store = MEMORY", "wal_autocheckpoint = 16000",
	}
	writerPragmas = slices.Concat(sqlitePragmas, []string{"cache_size = -8192"})
	readerPragmas = slices.Concat(sqlitePragmas, []string{"query_only = ON"})
)

func (d *DB) openSQLite(ctx context.Context, path string) error {
	if err := createPrivate(path); err != nil {
		return err
	}
	w, err := startWriter(ctx, path)
	if err != nil {
		return err
	}
	d.engine, d.writer = sqliteEngine, w
	d.readers = newReaders(path, max(4, 2*runtime.GOMAXPROCS(0)))
	return nil
}

// readers are connections that only read. Each is opened when it is first needed.
type readers struct {
	path string
	free chan *conn // nil stands for one that is not open yet
}

func newReaders(path string, n int) *readers {
	r := &readers{path: path, free: make(chan *conn, n)}
	for range n {
		r.free <- nil
	}
	return r
}

func (r *readers) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	var c *conn
	var ok bool
	select {
	case c, ok = <-r.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !ok {
		return errClosed
	}
	defer func() { r.free <- c }()
	if c == nil {
		var err error
		if c, err = openConn(r.path, readerPragmas...); err != nil {
			return err
		}
	}
	return c.query(ctx, query, args, row)
}

// close waits for the queries under way.
func (r *readers) close() error {
	var errs []error
	for range cap(r.free) {
		if c := <-r.free; c != nil {
			errs = append(errs, c.Close())
		}
	}
	close(r.free)
	return errors.Join(errs...)
}

// createPrivate makes the file, which its journals take their mode from, and its
// folder: nobody but the owner may read either.
func createPrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
