package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"modernc.org/sqlite"
)

// conn is one connection to SQLite, for one goroutine at a time. It goes around
// database/sql, whose pool, locks and conversions cost about as much as SQLite
// itself does for a small query, and it keeps every statement prepared: each text
// is a constant of the program, so their number is bounded.
type conn struct {
	driver driver.Conn
	stmts  map[string]stmt
	args   []driver.NamedValue // reused
	values []driver.Value      // reused
}

type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// background is what SQLite's calls get instead of a request's context: they take
// microseconds, while watching a context costs a goroutine each.
var background = context.Background()

func openConn(dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(background)
	if err != nil {
		return nil, err
	}
	return &conn{driver: c, stmts: map[string]stmt{}}, nil
}

// close closes the statements first: SQLite would keep the file open, and its
// journal full, for as long as there is one.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.driver.Close())...)
}

func (c *conn) prepare(query string) (stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	made, err := c.driver.Prepare(query)
	if err != nil {
		return nil, err
	}
	s := made.(stmt)
	c.stmts[query] = s
	return s, nil
}

func (c *conn) query(_ context.Context, query string, args []any, row func(scan scanner) error) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if err := c.bind(args); err != nil {
		return err
	}
	rows, err := s.QueryContext(background, c.args)
	if err != nil {
		return err
	}
	return errors.Join(c.each(rows, row), rows.Close())
}

func (c *conn) each(rows driver.Rows, row func(scan scanner) error) error {
	if n := len(rows.Columns()); len(c.values) != n {
		c.values = make([]driver.Value, n)
	}
	for {
		switch err := rows.Next(c.values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := row(c.scan); err != nil {
			return err
		}
	}
}

func (c *conn) exec(_ context.Context, query string, args []any) (int64, error) {
	s, err := c.prepare(query)
	if err != nil {
		return 0, err
	}
	if err := c.bind(args); err != nil {
		return 0, err
	}
	res, err := s.ExecContext(background, c.args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *conn) run(ctx context.Context, query string, args []any) error {
	_, err := c.exec(ctx, query, args)
	return err
}

// bind converts arguments to what a driver takes.
func (c *conn) bind(args []any) error {
	c.args = c.args[:0]
	for i, arg := range args {
		value := arg
		switch v := arg.(type) {
		case string, int64, bool, time.Time, nil:
		case int:
			value = int64(v)
		default:
			var err error
			if value, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return err
			}
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: value})
	}
	return nil
}

func (c *conn) scan(dest ...any) error {
	if len(dest) != len(c.values) {
		return errWidth
	}
	for i, d := range dest {
		if err := assign(d, c.values[i]); err != nil {
			return err
		}
	}
	return nil
}
