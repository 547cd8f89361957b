package db

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Every connection: a commit is on disk when it returns, times go in and out as
// time.Time, and a lock that another process holds is waited for.
var sqliteParams = url.Values{
	"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
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
	w, err := startWriter(ctx, sqliteDSN(path))
	if err != nil {
		return err
	}
	pool, err := sql.Open("sqlite", sqliteDSN(path)+"&_pragma=query_only(1)")
	if err != nil {
		return errors.Join(err, w.close())
	}
	readers := max(4, 2*runtime.GOMAXPROCS(0))
	pool.SetMaxOpenConns(readers)
	pool.SetMaxIdleConns(readers)
	d.engine, d.pool, d.writer = sqliteEngine, pool, w
	return nil
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

// uninterrupted drops a request's cancellation: SQLite's calls take microseconds,
// while watching a context costs a goroutine each.
func uninterrupted(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// stmts keeps prepared statements by their text; each query text is a constant
// of the program, so their number is bounded.
type stmts struct{ byText sync.Map }

type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

func (s *stmts) get(ctx context.Context, p preparer, query string) (*sql.Stmt, error) {
	if kept, ok := s.byText.Load(query); ok {
		return kept.(*sql.Stmt), nil
	}
	made, err := p.PrepareContext(uninterrupted(ctx), query)
	if err != nil {
		return nil, err
	}
	if kept, loaded := s.byText.LoadOrStore(query, made); loaded {
		return kept.(*sql.Stmt), made.Close() //nolint:sqlclosecheck // another goroutine's is kept
	}
	return made, nil
}

// close closes the statements. Those of one connection nobody else would: SQLite
// would keep the file open, and its journal full, until the process ends.
func (s *stmts) close() (err error) {
	for _, kept := range s.byText.Range {
		err = errors.Join(err, kept.(*sql.Stmt).Close())
	}
	return err
}
