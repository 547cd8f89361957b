package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Appender adds rows to a table that nobody reads before the commit, and that has no
// triggers and no references. On SQLite the rows of all transactions that share a commit
// are added together, by few statements.
type Appender struct {
	columns int
	one     string             // the INSERT of a row, on PostgreSQL
	several [len(sizes)]string // on SQLite, of so many
}

var sizes = [...]int{16, 8, 4, 2, 1}

// InsertedID may be the last value of a row: the id, as a text, of the row that the
// transaction inserted last, into the table of this name.
type InsertedID string

// NewAppender returns the appender of a table, for rows with values for these columns.
func NewAppender(table string, columns ...string) *Appender {
	into := " INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES "
	a := &Appender{columns: len(columns), one: "INSERT" + into + places(0, len(columns))}
	for i, n := range sizes {
		rows := make([]string, n)
		for row := range rows {
			rows[row] = places(row*a.columns, a.columns)
		}
		// A failure undoes the whole batch anyway: SQLite need not be able to undo this alone.
		a.several[i] = "INSERT OR ROLLBACK" + into + strings.Join(rows, ", ")
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

// Append adds a row. It may look at what its values point to as late as at the commit.
func (a *Appender) Append(ctx context.Context, t *Tx, values ...any) error {
	if len(values) != a.columns {
		return fmt.Errorf("a row has %d values, not %d", a.columns, len(values))
	}
	t.db.statements.Add(1)
	r := row{to: a, values: values}
	if s := t.db.sqlite; s != nil {
		s.writer.conn.append(r)
		return nil
	}
	query, args := r.statement()
	return classify(t.run(ctx, query, args))
}

// row is a row to be added.
type row struct {
	to       *Appender
	values   []any
	inserted int64 // what InsertedID stands for, on SQLite
}

// statement is the INSERT of a row on PostgreSQL.
func (r row) statement() (query string, args []any) {
	last := len(r.values) - 1
	table, ok := r.values[last].(InsertedID)
	if !ok {
		return r.to.one, r.values
	}
	others := r.to.one[:strings.LastIndexByte(r.to.one, '$')]
	return others + "CAST(currval('" + string(table) + "_id_seq') AS TEXT))", r.values[:last]
}
