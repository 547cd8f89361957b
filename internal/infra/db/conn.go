package db

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"time"

	"foyer/internal/infra/db/sqlite"
)

// conn is one connection to SQLite, for one goroutine at a time.
type conn struct {
	*sqlite.Conn
	values    []sqlite.Value // reused
	additions []addition     // run at the commit
	failed    error          // the first error of a statement of the running transaction, view or query, which does nothing more
}

// start prepares a statement and binds its arguments.
func (c *conn) start(query string, args []any) (*sqlite.Stmt, error) {
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.values = c.values[:0]
	for _, arg := range args {
		v, err := sqliteValue(arg)
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, v)
	}
	err = s.Bind(c.values)
	clear(c.values) // otherwise texts would stay in memory
	return s, err
}

func (c *conn) query(ctx context.Context, query string, args []any, row func(scan scanner) error) error {
	if c.failed != nil {
		return c.failed
	}
	s, err := c.start(query, args)
	if err != nil {
		c.failed = err
		return err
	}
	defer s.Reset()
	c.EndWith(ctx.Done())
	defer c.EndWith(nil)
	scan := func(dest ...any) error { return scanRow(s, dest) }
	for {
		more, err := s.Step()
		if ended := ctx.Err(); ended != nil {
			err = ended
		}
		if err != nil || !more {
			c.failed = err
			return err
		}
		if err := row(scan); err != nil {
			return err
		}
	}
}

func (c *conn) run(query string, args ...any) error {
	s, err := c.start(query, args)
	if err != nil {
		return err
	}
	defer s.Reset()
	return s.Run()
}

// change runs a statement of the transaction. Once one has failed, SQLite may have ended the transaction: the next would
// be committed by itself.
func (c *conn) change(query string, args []any) error {
	if c.failed == nil {
		c.failed = c.run(query, args...)
	}
	return c.failed
}

func (c *conn) exec(_ context.Context, query string, args []any) error {
	_ = c.change(query, args) // as on PostgreSQL, the next statement with a result, or the commit, returns the error
	return nil
}

func (c *conn) changed(_ context.Context, query string, args []any) (int64, error) {
	if err := c.change(query, args); err != nil {
		return 0, err
	}
	return c.Changes(), nil
}

// insert avoids RETURNING, for which SQLite builds a table and a journal.
func (c *conn) insert(ctx context.Context, query string, args []any) (int64, error) {
	n, err := c.changed(ctx, query, args)
	if err == nil && n == 0 {
		err = ErrNoRow
	}
	if err != nil {
		return 0, err
	}
	return c.LastInsertID(), nil
}

func (c *conn) add(a addition) { c.additions = append(c.additions, a) }

func (c *conn) lock(string) {} // a transaction has the database to itself

// sqliteValue converts an argument to the form that SQLite stores: a time as a number of microseconds, a boolean as 0 or
// 1.
func sqliteValue(arg any) (sqlite.Value, error) {
	switch v := arg.(type) {
	case nil:
		return sqlite.Value{}, nil
	case string:
		return textValue(v), nil
	case int64:
		return intValue(v), nil
	case int:
		return intValue(int64(v)), nil
	case bool:
		if v {
			return intValue(1), nil
		}
		return intValue(0), nil
	case time.Time:
		return intValue(v.UnixMicro()), nil
	case nullable[string]:
		if *v.v == "" {
			return sqlite.Value{}, nil
		}
		return textValue(*v.v), nil
	case driver.Valuer:
		inner, err := v.Value()
		if err != nil {
			return sqlite.Value{}, err
		}
		return sqliteValue(inner)
	}
	switch v := reflect.ValueOf(arg); {
	case v.Kind() == reflect.String:
		return textValue(v.String()), nil
	case v.CanInt():
		return intValue(v.Int()), nil
	}
	return sqlite.Value{}, fmt.Errorf("an argument cannot be of type %T", arg)
}

func textValue(s string) sqlite.Value { return sqlite.Value{Kind: sqlite.Text, Text: s} }

func intValue(n int64) sqlite.Value { return sqlite.Value{Kind: sqlite.Integer, Int: n} }
