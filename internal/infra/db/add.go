package db

import (
	"cmp"
	"fmt"
	"slices"
)

// addition is a statement that adds numbers to the counts in a row.
type addition struct {
	query string
	row   []any   // its first arguments, which identify the row
	n     []int64 // its other arguments, the numbers to add
}

// Add runs a statement that adds numbers to the counts in a row: its first arguments identify the row, the others are the
// numbers. The statement runs at the commit, which returns its error: nothing in the transaction may depend on the row.
// Transactions that share a commit mostly count in the same few rows: their additions to one row are summed first. Add
// keeps n.
func Add(t *Tx, query string, row []any, n ...int64) {
	t.db.statements.Add(1)
	t.add(addition{query, row, n})
}

func (a addition) args() []any {
	args := slices.Clone(a.row)
	for _, n := range a.n {
		args = append(args, n)
	}
	return args
}

// compare sorts rows in a fixed order, the same on all servers.
func (a addition) compare(b addition) int {
	return cmp.Or(cmp.Compare(a.query, b.query), cmp.Compare(fmt.Sprint(a.row...), fmt.Sprint(b.row...)))
}

func (a addition) sameRow(b addition) bool { return a.query == b.query && slices.Equal(a.row, b.row) }

// sum merges the additions to each row into one, in the same slice.
func sum(additions []addition) []addition {
	sums := additions[:0]
	for _, a := range additions {
		i := slices.IndexFunc(sums, a.sameRow)
		if i < 0 {
			sums = append(sums, a)
			continue
		}
		for j, n := range a.n {
			sums[i].n[j] += n
		}
	}
	return sums
}
