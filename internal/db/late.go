package db

import (
	"context"
	"slices"
	"strconv"
)

// late is what transactions have put off until the commit that they share.
type late struct {
	rows      []row
	size      int // of their texts, in bytes
	additions []addition
}

// maxLate is how many bytes of text rows may have that wait for the commit.
const maxLate = 64 << 10

func (c *conn) add(_ context.Context, a addition) error {
	c.late.additions = append(c.late.additions, a)
	return nil
}

func (c *conn) append(r row) {
	r.inserted = c.LastInsertID()
	for _, v := range r.values {
		if text, ok := v.(string); ok {
			c.late.size += len(text)
		}
	}
	c.late.rows = append(c.late.rows, r)
}

// addRows adds the rows that were put off.
func (c *conn) addRows() error {
	rows := c.late.rows
	c.late.rows, c.late.size = rows[:0], 0
	defer clear(rows[:cap(rows)]) // or texts would stay in memory, of transactions that failed too
	for len(rows) > 0 {
		to, n := rows[0].to, 1
		for n < len(rows) && rows[n].to == to {
			n++
		}
		i := slices.IndexFunc(sizes[:], func(size int) bool { return size <= n })
		n = sizes[i]
		values := make([]any, 0, n*to.columns)
		for _, r := range rows[:n] {
			values = append(values, r.values...)
			last := len(values) - 1
			if _, ok := values[last].(InsertedID); ok {
				values[last] = strconv.FormatInt(r.inserted, 10)
			}
		}
		if err := c.run(context.Background(), to.several[i], values); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// addLong adds the rows if they are too long to wait.
func (c *conn) addLong() error {
	if c.late.size <= maxLate {
		return nil
	}
	return c.addRows()
}

// settle does all that was put off.
func (c *conn) settle() error {
	if err := c.addRows(); err != nil {
		return err
	}
	sums := sum(c.late.additions)
	c.late.additions = c.late.additions[:0]
	for _, a := range sums {
		if err := c.run(context.Background(), a.query, a.args()); err != nil {
			return err
		}
	}
	return nil
}
