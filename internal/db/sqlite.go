package db

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
)

// Every connection: a commit is on disk when it returns, times go in and out as
// time.Time, a lock that another process holds is waited for, and the journal is
// copied into the database every 16 MB.
var sqliteParams = url.Values{
	"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"temp_store(2)", "wal_autocheckpoint(4000)",
	},
	"_time_integer_format": {"unix_micro"},
	"_inttotime":           {"1"},
}.Encode()

func sqliteDSN(path string) string { return "file:" + escapePath(path) + "?" + sqliteParams }

func escapePath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

func (d *DB) openSQLite(ctx context.Context, path string) error {
	if err := createPrivate(path); err != nil {
		return err
	}
	w, err := startWriter(ctx, sqliteDSN(path)+"&_pragma=cache_size(-8192)")
	if err != nil {
		return err
	}
	d.engine, d.writer = sqliteEngine, w
	d.readers = newReaders(sqliteDSN(path)+"&_pragma=query_only(1)", max(4, 2*runtime.GOMAXPROCS(0)))
	return nil
}

// readers are connections that only read. Each is opened when it is first needed.
type readers struct {
	dsn  string
	free chan *conn // nil stands for one that is not open yet
}

func newReaders(dsn string, n int) *readers {
	r := &readers{dsn: dsn, free: make(chan *conn, n)}
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
		if c, err = openConn(r.dsn); err != nil {
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
			errs = append(errs, c.close())
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
