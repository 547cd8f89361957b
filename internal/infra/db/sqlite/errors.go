package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Error is an error from SQLite.
type Error struct {
	Code int // extended, https://sqlite.org/rescode.html
	text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.Code) }

// Codes without the details in the higher bits.
const (
	Busy       = lib.SQLITE_BUSY
	ReadOnly   = lib.SQLITE_READONLY
	IOError    = lib.SQLITE_IOERR
	Full       = lib.SQLITE_FULL
	CannotOpen = lib.SQLITE_CANTOPEN
)

// Says reports whether err is an SQLite error with one of the codes.
func Says(err error, codes ...int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code&0xff)
}

// IsDamaged reports whether err says that a file is not, or no longer, a SQLite database.
func IsDamaged(err error) bool { return Says(err, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB) }

func (c *Conn) check(result int32) error {
	if result == lib.SQLITE_OK {
		return nil
	}
	if result == lib.SQLITE_IOERR_WRITE {
		// Only that of a disk without room is SQLITE_FULL; the same is true where a quota or the size of a file is limited.
		if why := syscall.Errno(lib.Xsqlite3_system_errno(c.tls, c.db)); why == syscall.EDQUOT || why == syscall.EFBIG {
			return &Error{Code: Full, text: libc.GoString(lib.Xsqlite3_errstr(c.tls, Full)) + ": " + why.Error()}
		}
	}
	return &Error{Code: int(result), text: libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db))}
}
