package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"foyer/internal/infra/db/queue"
	"foyer/internal/infra/db/sqlite"
)

// On every connection, a commit is on disk when it returns.
var (
	sqlitePragmas = []string{
		"journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON",
		"secure_delete = ON", // erased data is nowhere in the file
	}
	readerPragmas = slices.Concat([]string{sqlite.BusyTimeout}, sqlitePragmas, []string{"query_only = ON"})
)

func writerPragmas(path string) []string {
	return slices.Concat(sqlitePragmas, []string{
		"cache_size = -8192", fmt.Sprintf("wal_autocheckpoint = %d", logPages(freeSpace(path))),
		"temp_store_directory = '" + strings.ReplaceAll(folderOf(path), "'", "''") + "'",
	})
}

// folderOf returns the folder in which SQLite has the log of a file, and all connections have their temporary files, too:
// what SQLite would take for these, such as /tmp, may not be writable, or be in memory.
func folderOf(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	return filepath.Dir(path)
}

const (
	pageSize    = 4096  // SQLite's default
	minLogPages = 1000  // SQLite's default
	maxLogPages = 16000 // 64 MB
)

// logPages returns how long the log may get, in pages, before it is copied into the database: a page that changes often
// is then copied once. The log takes at most a quarter of the free space, which the database needs to grow.
func logPages(free uint64) int64 {
	return int64(min(max(free/4/pageSize, minLogPages), maxLogPages))
}

// sqliteDB is a database in a file.
type sqliteDB struct {
	readers *readers
	writer  *writer
}

func openSQLite(ctx context.Context, path string) (*sqliteDB, error) {
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	w, err := startWriter(ctx, path)
	if err != nil {
		return nil, err
	}
	return &sqliteDB{readers: newReaders(w.file, max(4, 2*runtime.GOMAXPROCS(0))), writer: w}, nil
}

func (s *sqliteDB) close() error { return errors.Join(s.writer.close(), s.readers.close()) }

// Purge removes deleted data from the disk as far as foyer can: on SQLite, old versions of pages would otherwise stay in
// the log until they are overwritten. They stay if somebody reads for longer than Purge waits. Even if Purge returns an
// error, the data is deleted.
func (d *DB) Purge() error {
	if d.sqlite == nil {
		return nil
	}
	path := d.sqlite.writer.file.path
	c, err := sqlite.OpenOwn(path, sqlitePragmas...)
	busy := ""
	if err == nil {
		busy, err = c.Text("PRAGMA wal_checkpoint(TRUNCATE)")
		err = errors.Join(err, c.Close())
	}
	if err == nil && busy != "0" {
		err = errors.New("somebody reads it, as a backup does")
	}
	if err != nil {
		return fmt.Errorf("it is deleted, but what was deleted is still in the log, %s-wal: %w; once that is over, restart the server, which empties the log", path, err)
	}
	return nil
}

// withPathIfDamaged adds the path to an error that says that the file is damaged.
func withPathIfDamaged(path string, err error) error {
	if sqlite.IsDamaged(err) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// readers are connections that only read. Each is opened on first use, and the last one used is the first to be reused:
// it has most of the needed pages in memory.
type readers struct {
	file  original
	slots chan struct{} // one for each possible connection

	mu   sync.Mutex
	idle []*conn
}

func newReaders(file original, n int) *readers {
	r := &readers{file: file, slots: make(chan struct{}, n)}
	for range n {
		r.slots <- struct{}{}
	}
	return r
}

// do runs fn with exclusive use of a connection.
func (r *readers) do(ctx context.Context, fn func(*conn) error) error {
	c, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer r.leave(c)
	return withPathIfDamaged(r.file.path, fn(c))
}

// enter waits for a slot and returns a connection.
func (r *readers) enter(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case _, ok := <-r.slots:
		if !ok {
			return nil, queue.ErrClosed
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := r.take()
	if err != nil {
		r.slots <- struct{}{}
		return nil, err
	}
	return c, nil
}

func (r *readers) take() (*conn, error) {
	r.mu.Lock()
	if last := len(r.idle) - 1; last >= 0 {
		c := r.idle[last]
		r.idle = r.idle[:last]
		r.mu.Unlock()
		return c, nil
	}
	r.mu.Unlock()
	if err := r.file.lost(); err != nil {
		return nil, err // SQLite would open, or make, another file
	}
	c, err := sqlite.Open(r.file.path, readerPragmas...)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

func (r *readers) leave(c *conn) {
	c.failed = nil
	r.mu.Lock()
	r.idle = append(r.idle, c)
	r.mu.Unlock()
	r.slots <- struct{}{}
}

// close waits for the running queries.
func (r *readers) close() error {
	for range cap(r.slots) {
		<-r.slots
	}
	close(r.slots)
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// createPrivate makes the file and its folder readable only by the owner. The file's journals get the same mode.
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
