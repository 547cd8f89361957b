// Package queries has what several queries are made from: variable arguments, pages of lists, and deletion in short
// transactions.
package queries

import (
	"context"
	"strconv"
	"strings"

	"foyer/internal/base/page"
	"foyer/internal/base/search"
	"foyer/internal/infra/db"
)

// Arg adds values to the arguments of a query that is built in parts, and returns their placeholders: $3, or $3, $4 for
// two.
func Arg[T any](args *[]any, values ...T) string {
	placeholders := make([]string, len(values))
	for i, v := range values {
		*args = append(*args, v)
		placeholders[i] = "$" + strconv.Itoa(len(*args))
	}
	return strings.Join(placeholders, ", ")
}

// Contains folds a text, which is not empty, appends it to args and returns the condition that a column of folded texts
// contains it. LIKE takes a hundred times as long for many equal letters in a long text: it compares each again from each
// place.
func Contains(args *[]any, column, text string) string {
	return `replace(` + column + `, ` + Arg(args, search.Fold(text)) + `, '') <> ` + column
}

// Page reads a page of a list and the length of the list, both at the same moment: a change in between could end paging
// early, with a count that was never true. q is a DB, or a View's; count and list must use their arguments, as in View.
func Page[T any](
	ctx context.Context, q db.Querier, p page.Page, count func(context.Context, db.Querier) (int, error), list func(context.Context, db.Querier) ([]T, error),
) (page.Found[T], error) {
	var found page.Found[T]
	read := func(ctx context.Context, q db.Querier) error {
		n, err := count(ctx, q)
		if err != nil || p.Beyond(n) {
			found = page.Found[T]{Count: n}
			return err
		}
		items, err := list(ctx, q)
		found = page.Counted(items, p, n)
		return err
	}
	if d, ok := q.(*db.DB); ok {
		err := d.View(ctx, read)
		return found, err
	}
	err := read(ctx, q)
	return found, err
}

// deleteBatch limits how many rows DeleteOld deletes in one transaction.
const deleteBatch = 500

// DeleteOld deletes the rows of a table that a condition with an order selects, except rows that others have locked. It
// uses short transactions, so that others get their turns in between. key names the columns that identify a row,
// separated by commas.
func DeleteOld(ctx context.Context, d *db.DB, table, key, which string, args ...any) error {
	query := `DELETE FROM ` + table + ` WHERE (` + key + `) IN (SELECT ` + key + ` FROM ` + table + ` WHERE ` + which +
		` LIMIT ` + strconv.Itoa(deleteBatch) + ` FOR UPDATE SKIP LOCKED)`
	for n := int64(1); n > 0; {
		err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Changed(ctx, tx, query, args...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
