// Package backup copies a SQLite database while servers use it, and restores copies.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/sqlite"
)

// Errors of Make and Restore, besides that of replacing a file (fs.ErrExist).
var (
	errNotSQLite = errors.New("this is for SQLite: PostgreSQL has pg_dump and pg_restore")
	errInUse     = errors.New("the database is in use: stop the server first")
	errNoBackup  = errors.New("not a backup of foyer")
	errEmpty     = errors.New("the database is empty: there is nothing to back up")
	errOvertaken = errors.New("another backup or restore writes to the same place")
)

// Make writes a consistent copy of a SQLite database to a new file, while servers continue to use the database. The copy
// keeps the present schema.
func Make(ctx context.Context, url, path string) (err error) {
	source, err := sqliteFile(url)
	if err != nil {
		return err
	}
	if _, err := os.Stat(source); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	partial, err := reserve(path)
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())              // no effect once renamed
	defer os.Remove(partial.Name() + "-journal") // SQLite leaves it when the disk is full
	defer partial.Close()                        // no effect once renamed
	defer func() { err = orOvertaken(err, partial, path) }()
	if err := vacuumInto(ctx, source, partial.Name(), path); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	if err := addDigest(ctx, partial.Name()); err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("copy to %s: %w", path, err))
	}
	return install(partial, path)
}

// vacuumInto copies a database to the file partial, which will be renamed to path.
func vacuumInto(ctx context.Context, source, partial, path string) error {
	c, err := sqlite.OpenOwn(source, "secure_delete = ON") // applies to the copy too: rows move while it is made
	if err != nil {
		return err
	}
	c.EndWith(ctx.Done())
	if err = ctx.Err(); err == nil {
		err = checkBegun(c)
	}
	if err == nil {
		err = c.Exec(`VACUUM INTO '` + strings.ReplaceAll(partial, `'`, `''`) + `'`)
	}
	if sqlite.IsDamaged(err) || errors.Is(err, errEmpty) {
		err = fmt.Errorf("%s: %w", source, err)
	} else if err != nil { // either disk may be full
		err = fmt.Errorf("copy to %s: %w", path, err)
	}
	return errors.Join(err, c.Close())
}

// checkBegun refuses a database without a schema: a copy of it is not a backup.
func checkBegun(c *sqlite.Conn) error {
	begun, err := c.Text(`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name <> 'migrations')`)
	if err == nil && begun == "0" {
		return errEmpty
	}
	return err
}

// Restore replaces a SQLite database, which must not be in use, with a copy made by Make. It overwrites an existing
// database only with replace. The copy is migrated and changed by prepare before it replaces the database. If anything
// fails, the database stays unchanged.
func Restore(ctx context.Context, from, url string, replace bool, prepare func(context.Context, *db.Tx) error) (err error) {
	target, err := sqliteFile(url)
	if err != nil {
		return err
	}
	if target, err = follow(target); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	partial, err := copyBeside(ctx, target, from)
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name()) // no effect once renamed
	defer partial.Close()           // no effect once renamed
	defer func() { err = orOvertaken(err, partial, target) }()
	if err := checkBackup(ctx, partial.Name()); err != nil {
		return fmt.Errorf("%s: %w", from, cmp.Or(ctx.Err(), err))
	}
	if err := openAndPrepare(ctx, partial.Name(), prepare); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	switch _, err := os.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !replace:
		return fmt.Errorf("%s: %w", target, fs.ErrExist)
	}
	release, err := claim(target)
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	// SQLite would use a leftover journal for the new database.
	for _, journal := range []string{"-wal", "-shm", "-journal"} {
		if err := os.Remove(target + journal); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return install(partial, target)
}

// openAndPrepare opens and prepares a copy, and closes it with all changes in the one file.
func openAndPrepare(ctx context.Context, path string, prepare func(context.Context, *db.Tx) error) error {
	d, err := db.Open(ctx, "sqlite:"+path)
	if err != nil {
		return err
	}
	return errors.Join(d.InTx(ctx, prepare), d.Close())
}

func sqliteFile(url string) (path string, err error) {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok {
		return "", errNotSQLite
	}
	return path, nil
}

// follow returns the file that a path with links leads to. The file need not exist.
func follow(path string) (string, error) {
	if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err // for example for circular links
	}
	for {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // it is no link, or not there
		}
		if !filepath.IsAbs(to) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(folder, to)
		}
		path = to
	}
}

// reserve makes an empty file beside path that only its owner can read. It removes the files of killed processes; if one
// is still being written, installing it fails.
func reserve(path string) (*os.File, error) {
	left, err := filepath.Glob(escapeGlob(path) + ".*.partial*") // including their journals
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", path, e.Err) // the temporary name in e would not help anybody
	}
	return f, err
}

// escapeGlob makes filepath.Glob match a path literally.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func copyBeside(ctx context.Context, target, from string) (partial *os.File, err error) {
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return nil, fmt.Errorf("%s: %w: it is a database in use, or was one; `foyer admin backup` makes a complete copy", from, errNoBackup)
	}
	src, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	defer context.AfterFunc(ctx, func() { src.Close() })() // ends the copying
	if partial, err = reserve(target); err != nil {
		return nil, err
	}
	if err := copyChecked(partial, src); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", from, cmp.Or(ctx.Err(), err)), partial.Close(), os.Remove(partial.Name()))
	}
	return partial, nil
}

// checkBackup checks that a file is a complete database of foyer.
func checkBackup(ctx context.Context, path string) error {
	c, err := sqlite.Open(path, "journal_mode = DELETE")
	if err != nil {
		return fmt.Errorf("%w: %w", errNoBackup, err)
	}
	c.EndWith(ctx.Done())
	return errors.Join(inspect(c), c.Close())
}

func inspect(c *sqlite.Conn) error {
	found, err := c.Text(`PRAGMA integrity_check(1)`)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoBackup, err)
	}
	if found != "ok" {
		return fmt.Errorf("the backup is of a damaged database: %s", found)
	}
	if first, err := c.Text(`SELECT MIN(name) FROM migrations`); err != nil || first == "" {
		return errors.Join(errNoBackup, err)
	}
	return nil
}

// claim keeps other processes from using a SQLite file until release is called. A file that is missing or not a database
// cannot be in use.
func claim(path string) (release func() error, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	c, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	// Leaving WAL requires, and keeps, an exclusive connection.
	for _, statement := range []string{`PRAGMA locking_mode = EXCLUSIVE`, `PRAGMA journal_mode = DELETE`, `BEGIN EXCLUSIVE`} {
		if err = c.Exec(statement); err != nil {
			break
		}
	}
	switch {
	case err == nil || sqlite.IsDamaged(err):
		return c.Close, nil
	case sqlite.Says(err, sqlite.Busy):
		return nil, errors.Join(errInUse, c.Close())
	default: // it may still be in use
		return nil, errors.Join(err, c.Close())
	}
}

// isOvertaken reports whether an open file was removed since it was reserved. SQLite may have made a new one of that name,
// which is empty, or have failed without saying why.
func isOvertaken(partial *os.File) bool {
	reserved, err := partial.Stat()
	if err != nil {
		return false // it is closed, and had its name until then
	}
	found, err := os.Stat(partial.Name())
	return err != nil || !os.SameFile(reserved, found)
}

// orOvertaken returns why writing a reserved file has failed with err.
func orOvertaken(err error, partial *os.File, path string) error {
	if err != nil && isOvertaken(partial) {
		return fmt.Errorf("%s: %w", path, errOvertaken)
	}
	return err
}

// install gives a finished file its name durably: after it returns, a power failure changes nothing.
func install(partial *os.File, path string) error {
	overtaken := fmt.Errorf("%s: %w", path, errOvertaken)
	if isOvertaken(partial) {
		return overtaken
	}
	if err := errors.Join(partial.Sync(), partial.Close()); err != nil {
		return err
	}
	switch err := os.Rename(partial.Name(), path); {
	case errors.Is(err, fs.ErrNotExist): // removed just now
		return overtaken
	case err != nil:
		return err
	}
	return syncPath(filepath.Dir(path))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
