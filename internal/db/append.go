package db

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Appender adds rows to a table that nobody reads before the commit. On SQLite the rows of
// all transactions that share a commit are added together, by few statements.
type Appender struct {
	columns  int
	one      string                // the INSERT of a row, on PostgreSQL
	together [len(together)]string // on SQLite, of so many
}

var together = [...]int{16, 8, 4, 2, 1}

// InsertedID may be the last value of a row: the id, as a text, of the row that the
// transaction inserted last, into the table of this name.
type InsertedID string

// NewAppender returns the appender of a table, for rows with values for these columns.
func NewAppender(table string, columns ...string) *Appender {
	into := " INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES "
	a := &Appender{columns: len(columns), one: "INSERT" + into + places(0, len(columns))}
	for i, n := range together {
		rows := make([]string, n)
		for row := range rows {
			rows[row] = places(row*a.columns, a.columns)
		}
		// A failure undoes the whole commit anyway: SQLite need not be able to undo this alone.
		a.together[i] = "INSERT OR ROLLBACK" + into + strings.Join(rows, ", ")
	}
	return a
}

// places is the row of n arguments that come after the first few.
func places(first, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(first+i+1)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// Append adds a row.
func (a *Appender) Append(ctx context.Context, t *Tx, values ...any) error {
	t.db.statements.Add(1)
	r := row{a, values}
	if s := t.db.sqlite; s != nil {
		return classify(s.writer.conn.append(ctx, r))
	}
	query, args := r.statement()
	return classify(t.run(ctx, query, args))
}

// row is a row to be added.
type row struct {
	to     *Appender
	values []any
}

// statement is the INSERT of a row on PostgreSQL.
func (r row) statement() (query string, args []any) {
	last := len(r.values) - 1
	table, ok := r.values[last].(InsertedID)
	if !ok {
		return r.to.one, r.values
	}
	others := r.to.one[:strings.LastIndexByte(r.to.one, '$')]
	return others + "CAST(" + currentID(string(table)) + " AS TEXT))", r.values[:last]
}

// maxWaiting is how many bytes of text rows may have that wait for the commit.
const maxWaiting = 64 << 10

func (c *conn) append(ctx context.Context, r row) error {
	last := len(r.values) - 1
	if _, ok := r.values[last].(InsertedID); ok {
		r.values[last] = strconv.FormatInt(c.LastInsertID(), 10)
	}
	for _, v := range r.values {
		if text, ok := v.(string); ok {
			c.late.size += len(text)
		}
	}
	c.late.rows = append(c.late.rows, r)
	if c.late.size > maxWaiting {
		return c.addRows(ctx)
	}
	return nil
}

// addRows adds the rows that were put off.
func (c *conn) addRows(ctx context.Context) error {
	rows := c.late.rows
	c.late.rows, c.late.size = rows[:0], 0
	defer clear(rows[:cap(rows)]) // or texts would stay in memory
	for len(rows) > 0 {
		to, n := rows[0].to, 1
		for n < len(rows) && rows[n].to == to {
			n++
		}
		size := slices.IndexFunc(together[:], func(size int) bool { return size <= n })
		n = together[size]
		values := make([]any, 0, n*to.columns)
		for _, r := range rows[:n] {
			values = append(values, r.values...)
		}
		if err := c.run(ctx, to.together[size], values); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
