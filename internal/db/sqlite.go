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

func sqliteDSN(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + sqliteParams
}

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

// Backup writes a consistent copy of a SQLite database to a new file, while
// servers go on using it.
func (d *DB) Backup(ctx context.Context, path string) error {
	if !d.engine.sqlite {
		return errors.New("backup is for SQLite: PostgreSQL has pg_dump")
	}
	if _, err := os.Stat(path); err == nil {
		return errors.New(path + " is there already: name a new file")
	}
	partial := path + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := createPrivate(partial); err != nil {
		return err
	}
	_, err := d.pool.ExecContext(ctx, `VACUUM INTO ?`, partial)
	if err == nil {
		err = syncFile(partial)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return os.Rename(partial, path)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// close closes the statements. Those of one connection nobody else would: SQLite
// would keep the file open, and its journal full, until the process ends.
func (s *stmts) close() (err error) {
	for _, kept := range s.byText.Range {
		err = errors.Join(err, kept.(*sql.Stmt).Close())
	}
	return err
}
