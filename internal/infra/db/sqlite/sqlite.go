// Package sqlite is a thin layer over SQLite's C interface, in the translation to Go that is part of modernc.org/sqlite.
// The driver above that translation is made for database/sql: it asks for the names and types of all columns at each
// query, boxes each value and takes a lock at each call, which together cost about as much as a small query.
package sqlite

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Conn is a connection to a database, for one goroutine at a time.
type Conn struct {
	tls   *libc.TLS
	db    uintptr          // a pointer to sqlite3
	stmts map[string]*Stmt // prepared, for later use

	done   <-chan struct{}
	isDone func(*libc.TLS, uintptr) int32 // called by SQLite: a result other than 0 ends the running statement
}

// Open opens the database in the file at path, which it makes if it does not exist, and runs the given pragmas, such as
// "synchronous=FULL".
func Open(path string, pragmas ...string) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS(), stmts: map[string]*Stmt{}}
	err := c.open(path)
	if err == nil {
		err = c.set(pragmas)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// set runs pragmas, such as "synchronous=FULL".
func (c *Conn) set(pragmas []string) error {
	for _, pragma := range pragmas {
		if err := c.Exec("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) open(path string) error {
	const flags = lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_CREATE | lib.SQLITE_OPEN_NOMUTEX | lib.SQLITE_OPEN_EXRESCODE
	name, err := libc.CString(path)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	var result int32
	c.db = out(c.tls, func(db uintptr) { result = lib.Xsqlite3_open_v2(c.tls, name, db, flags, 0) })
	if err := c.check(result); err != nil {
		return err
	}
	c.checkDone()
	return nil
}

// Close closes the connection and its statements.
func (c *Conn) Close() error {
	for _, s := range c.stmts {
		s.finalize()
	}
	err := c.check(lib.Xsqlite3_close(c.tls, c.db))
	c.tls.Close()
	return err
}

// Prepare returns the prepared statement of a query, which must be exactly one SQL statement. The connection owns and
// caches it. It is valid until the next Prepare, or while it has more rows.
func (c *Conn) Prepare(query string) (*Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	if len(c.stmts) >= maxStmts {
		c.evict()
	}
	s, err := c.prepare(query, lib.SQLITE_PREPARE_PERSISTENT)
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

// maxStmts limits the number of cached statements. There are about two hundred, and variants of some for filters and
// changed fields.
const maxStmts = 1000

// evict finalizes any one statement that has no more rows.
func (c *Conn) evict() {
	for query, s := range c.stmts {
		if lib.Xsqlite3_stmt_busy(c.tls, s.stmt) == 0 {
			s.finalize()
			delete(c.stmts, query)
			return
		}
	}
}

// rowLock matches the end of a SELECT that locks its rows. SQLite has no such clauses: a transaction has the whole
// database to itself.
var rowLock = regexp.MustCompile(`\s+FOR (?:UPDATE|KEY SHARE)(?: OF \w+)?(?: SKIP LOCKED)?\b`)

func (c *Conn) prepare(query string, flags uint32) (*Stmt, error) {
	query = rowLock.ReplaceAllLiteralString(query, "")
	text, err := libc.CString(query)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, text)
	s := &Stmt{conn: c}
	var result int32
	tail := out(c.tls, func(tail uintptr) {
		s.stmt = out(c.tls, func(stmt uintptr) {
			result = lib.Xsqlite3_prepare_v3(c.tls, c.db, text, int32(len(query)), flags, stmt, tail)
		})
	})
	if err := c.check(result); err != nil {
		return nil, err
	}
	if s.stmt == 0 || strings.TrimSpace(libc.GoString(tail)) != "" {
		s.finalize()
		return nil, fmt.Errorf("%.100q is not one statement", query)
	}
	if err := s.nameParameters(); err != nil {
		s.finalize()
		return nil, err
	}
	return s, nil
}

// Exec runs a statement without caching it.
func (c *Conn) Exec(query string) error {
	s, err := c.prepare(query, 0)
	if err != nil {
		return err
	}
	defer s.finalize()
	return s.Run()
}

// Changes returns how many rows the last INSERT, UPDATE or DELETE changed.
func (c *Conn) Changes() int64 { return lib.Xsqlite3_changes64(c.tls, c.db) }

// TotalChanges returns how many rows have been changed since the connection was opened.
func (c *Conn) TotalChanges() int64 { return lib.Xsqlite3_total_changes64(c.tls, c.db) }

// InTransaction reports whether a transaction is running. SQLite itself ends a transaction when the disk is full or
// fails, or memory runs out.
func (c *Conn) InTransaction() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// EndWith makes statements end soon after done is closed, with an error; a nil channel is never closed.
func (c *Conn) EndWith(done <-chan struct{}) { c.done = done }

// checkEvery is how many steps of SQLite's virtual machine, of about 50 ns each, a statement runs between two checks
// whether it must end.
const checkEvery = 1000

func (c *Conn) checkDone() {
	c.isDone = func(*libc.TLS, uintptr) int32 {
		select {
		case <-c.done:
			return 1
		default:
			return 0
		}
	}
	lib.Xsqlite3_progress_handler(c.tls, c.db, checkEvery, *(*uintptr)(unsafe.Pointer(&c.isDone)), 0)
}

// LastInsertID returns the number of the row that the last INSERT made.
func (c *Conn) LastInsertID() int64 { return lib.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// out calls a function that writes its result, a pointer, to an address.
func out(tls *libc.TLS, call func(address uintptr)) uintptr {
	const size = int(unsafe.Sizeof(uintptr(0)))
	address := tls.Alloc(size)
	defer tls.Free(size)
	call(address)
	return *(*uintptr)(pointer(address))
}

// pointer returns a pointer to memory that Go's collector does not know.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func memory(address uintptr, size int) []byte { return unsafe.Slice((*byte)(pointer(address)), size) }
