package db

import (
	"context"
	"slices"
)

// addition is a statement that adds numbers to a row.
type addition struct {
	query string
	row   []any   // its first arguments: which row
	n     []int64 // the others: how much
}

// Add runs a statement that adds numbers to a row of counts: its first arguments
// say which row, the others how much. Nothing in the transaction may depend on the
// row. On SQLite transactions that share a commit mostly count in the same few
// rows: what they add to one is added up first.
func Add(ctx context.Context, t *Tx, query string, row []any, n ...int64) error {
	return classify(t.add(ctx, addition{query, row, n}))
}

func (a addition) args() []any {
	args := slices.Clone(a.row)
	for _, n := range a.n {
		args = append(args, n)
	}
	return args
}

func (a addition) sameRow(b addition) bool { return a.query == b.query && slices.Equal(a.row, b.row) }

func (t *postgresTx) add(ctx context.Context, a addition) error { return t.run(ctx, a.query, a.args()) }

func (c *conn) add(_ context.Context, a addition) error {
	c.additions = append(c.additions, a)
	return nil
}

// addUp makes the additions that were put off, those to one row as one.
func (c *conn) addUp() error {
	sums := c.additions[:0]
	for _, a := range c.additions {
		i := slices.IndexFunc(sums, a.sameRow)
		if i < 0 {
			sums = append(sums, a)
			continue
		}
		for j, n := range a.n {
			sums[i].n[j] += n
		}
	}
	c.additions = c.additions[:0]
	for _, a := range sums {
		if err := c.run(context.Background(), a.query, a.args()); err != nil {
			return err
		}
	}
	return nil
}
