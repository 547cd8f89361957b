package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"

	lib "modernc.org/sqlite/lib"
)

// ErrForeign means that a file is another program's database.
var ErrForeign = errors.New("this is another program's database: it has tables, but not foyer's")

// selectForeign asks whether there are tables without the one that is made first.
const selectForeign = `SELECT EXISTS (SELECT 1 FROM sqlite_schema)
	AND (SELECT group_concat(name) FROM pragma_table_info('migrations')) IS NOT 'name'`

// Patient is the pragma that has statements wait for locks of other processes, in milliseconds.
const Patient = "busy_timeout = 10000"

// OpenOwn opens a database that is foyer's, or empty, with Patient and other pragmas. It leaves another program's as it
// is: what would change it waits until that is known.
func OpenOwn(path string, pragmas ...string) (*Conn, error) {
	c, err := Open(path, Patient)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	foreign, err := c.Text(selectForeign)
	if err == nil && foreign != "0" {
		err = ErrForeign
	}
	if err == nil {
		err = c.Set(pragmas)
	}
	if lacksShared(err) {
		err = fmt.Errorf("the disk is full: there is no room for %s-shm: %w", filepath.Base(path), err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), c.Close())
	}
	return c, nil
}

// lacksShared reports whether there is no room for the file beside a database that those who open it share.
func lacksShared(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == lib.SQLITE_IOERR_SHMOPEN || e.Code == lib.SQLITE_IOERR_SHMSIZE)
}

// Text runs a query that yields one text or number, and returns that as text.
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
