package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"

	lib "modernc.org/sqlite/lib"
)

// ErrForeign means that a file is another program's database.
var ErrForeign = errors.New("this is another program's database: it has tables, but not foyer's")

// selectForeign tests whether there are tables but not the one that foyer makes first.
const selectForeign = `SELECT EXISTS (SELECT 1 FROM sqlite_schema)
	AND (SELECT group_concat(name) FROM pragma_table_info('migrations')) IS NOT 'name'`

// BusyTimeout is the pragma that makes statements wait for the locks of other processes, in milliseconds.
const BusyTimeout = "busy_timeout = 10000"

// OpenOwn opens a database that is foyer's, or empty, with BusyTimeout and other pragmas. It does not change another
// program's database: it sets the pragmas only after the check.
func OpenOwn(path string, pragmas ...string) (*Conn, error) {
	c, err := Open(path, BusyTimeout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	foreign, err := c.Text(selectForeign)
	if err == nil && foreign != "0" {
		err = ErrForeign
	}
	if err == nil {
		err = c.set(pragmas)
	}
	if lacksShared(err) {
		err = fmt.Errorf("the disk is full: there is no room for %s-shm: %w", filepath.Base(path), err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	return c, nil
}

// lacksShared reports whether there is no room for the shared memory file beside a database.
func lacksShared(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == lib.SQLITE_IOERR_SHMOPEN || e.Code == lib.SQLITE_IOERR_SHMSIZE)
}

// Text runs a query for one text or number and returns it as text.
func (c *Conn) Text(query string) (string, error) {
	s, err := c.Prepare(query)
	if err != nil {
		return "", err
	}
	defer s.Reset()
	if row, err := s.Step(); err != nil || !row {
		return "", err
	}
	return s.Text(0), nil
}
