package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Stmt is a prepared statement. Bind sets its arguments, Step runs it up to the next row, and Reset ends it, whether it
// failed or not.
type Stmt struct {
	conn       *Conn
	stmt       uintptr // a pointer to sqlite3_stmt
	parameters []int   // the n of each $n, in SQLite's order
	texts      uintptr // memory for text arguments
	capacity   int     // of texts, in bytes
}

// Kind is the type of an argument or a column.
type Kind uint8

// The kinds of values that foyer stores.
const (
	Null Kind = iota
	Integer
	Text
)

// Value is an argument.
type Value struct {
	Kind Kind
	Int  int64  // if Kind is Integer
	Text string // if Kind is Text
}

// keptTexts is how many bytes of memory a statement keeps for later arguments.
const keptTexts = 64 << 10

func (s *Stmt) nameParameters() error {
	for i := range lib.Xsqlite3_bind_parameter_count(s.conn.tls, s.stmt) {
		name := libc.GoString(lib.Xsqlite3_bind_parameter_name(s.conn.tls, s.stmt, i+1))
		n, err := strconv.Atoi(strings.TrimPrefix(name, "$"))
		if err != nil || name != "$"+strconv.Itoa(n) {
			return fmt.Errorf("the parameter %q is not of the form $1", name)
		}
		s.parameters = append(s.parameters, n)
	}
	return nil
}

// Bind sets all arguments: $1 is values[0]. The statement must not be between two
// rows.
func (s *Stmt) Bind(values []Value) error {
	size := 1 // an empty text needs an address too
	for _, v := range values {
		size += len(v.Text)
	}
	if err := s.reserve(size); err != nil {
		return err
	}
	free := s.texts
	for i, n := range s.parameters {
		if n < 1 || n > len(values) {
			return fmt.Errorf("there is no argument $%d", n)
		}
		v := values[n-1]
		copy(memory(free, len(v.Text)), v.Text)
		if err := s.conn.check(s.bind(int32(i+1), v, free)); err != nil {
			return err
		}
		free += uintptr(len(v.Text))
	}
	return nil
}

// bind sets one argument; a text has been copied to an address, and SQLite uses that copy until the next Bind.
func (s *Stmt) bind(i int32, v Value, address uintptr) (result int32) {
	switch v.Kind {
	case Integer:
		return lib.Xsqlite3_bind_int64(s.conn.tls, s.stmt, i, v.Int)
	case Text:
		return lib.Xsqlite3_bind_text(s.conn.tls, s.stmt, i, address, int32(len(v.Text)), lib.SQLITE_STATIC)
	default:
		return lib.Xsqlite3_bind_null(s.conn.tls, s.stmt, i)
	}
}

// reserve makes room for texts.
func (s *Stmt) reserve(size int) error {
	if size <= s.capacity {
		return nil
	}
	s.release()
	size = max(size, 512)
	if s.texts = lib.Xsqlite3_malloc(s.conn.tls, int32(size)); s.texts == 0 {
		return errors.New("no memory for the arguments of a statement")
	}
	s.capacity = size
	return nil
}

func (s *Stmt) release() {
	lib.Xsqlite3_free(s.conn.tls, s.texts)
	s.texts, s.capacity = 0, 0
}

// Step runs the statement up to its next row and reports whether there is one.
func (s *Stmt) Step() (row bool, err error) {
	switch result := lib.Xsqlite3_step(s.conn.tls, s.stmt); result {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, s.conn.check(result)
	}
}

// Run runs the statement to its end.
func (s *Stmt) Run() (err error) {
	for more := true; more && err == nil; {
		more, err = s.Step()
	}
	return err
}

// Reset makes the statement ready for new arguments.
func (s *Stmt) Reset() {
	lib.Xsqlite3_reset(s.conn.tls, s.stmt) // returns the error that Step returned
	if s.capacity > keptTexts {
		s.release()
	}
}

// Columns returns how many columns a row has.
func (s *Stmt) Columns() int { return int(lib.Xsqlite3_column_count(s.conn.tls, s.stmt)) }

// Kind returns the type of a column of the current row; the first column is 0.
func (s *Stmt) Kind(column int) Kind {
	switch lib.Xsqlite3_column_type(s.conn.tls, s.stmt, int32(column)) {
	case lib.SQLITE_NULL:
		return Null
	case lib.SQLITE_INTEGER:
		return Integer
	default:
		return Text
	}
}

// Int returns a column of the current row as an integer.
func (s *Stmt) Int(column int) int64 {
	return lib.Xsqlite3_column_int64(s.conn.tls, s.stmt, int32(column))
}

// Text returns a column of the current row as a text.
func (s *Stmt) Text(column int) string {
	address := lib.Xsqlite3_column_text(s.conn.tls, s.stmt, int32(column))
	return string(memory(address, int(lib.Xsqlite3_column_bytes(s.conn.tls, s.stmt, int32(column)))))
}

func (s *Stmt) finalize() {
	s.release()
	lib.Xsqlite3_finalize(s.conn.tls, s.stmt) // returns the error that Step returned
}
