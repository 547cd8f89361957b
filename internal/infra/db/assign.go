package db

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"foyer/internal/infra/db/sqlite"
)

var errWidth = errors.New("scan: not as many fields as columns")

func scanRow(row *sqlite.Stmt, dest []any) error {
	if len(dest) != row.Columns() {
		return errWidth
	}
	for i, d := range dest {
		if err := assign(d, row, i); err != nil {
			return err
		}
	}
	return nil
}

// assign sets a field to the value of a column. Fields are texts, whole numbers, booleans, times, types based on these,
// and slices, which are read from JSON; other types have their own Scan.
func assign(dest any, row *sqlite.Stmt, column int) error {
	kind := row.Kind(column)
	switch d := dest.(type) {
	case nullable[string]:
		return assignNullable(d, row, column)
	case nullable[time.Time]:
		return assignNullable(d, row, column)
	case sql.Scanner:
		return d.Scan(columnValue(row, column, kind))
	}
	field := reflect.ValueOf(dest).Elem()
	switch {
	case kind == sqlite.Integer && assignInt(field, dest, row.Int(column)):
		return nil
	case kind == sqlite.Text && field.Kind() == reflect.String:
		field.SetString(row.Text(column))
		return nil
	case kind == sqlite.Text && field.Kind() == reflect.Slice:
		return json.Unmarshal([]byte(row.Text(column)), dest)
	}
	return fmt.Errorf("scan %T: the column is NULL, or of another type", dest)
}

func assignNullable[T string | time.Time](n nullable[T], row *sqlite.Stmt, column int) error {
	*n.v = *new(T)
	if row.Kind(column) == sqlite.Null {
		return nil
	}
	return assign(n.v, row, column)
}

func columnValue(row *sqlite.Stmt, column int, kind sqlite.Kind) any {
	switch kind {
	case sqlite.Integer:
		return row.Int(column)
	case sqlite.Text:
		return row.Text(column)
	default:
		return nil
	}
}

// assignInt converts a number from the database, see sqliteValue.
func assignInt(field reflect.Value, dest any, n int64) bool {
	at, isTime := dest.(*time.Time)
	switch {
	case isTime:
		*at = time.UnixMicro(n).UTC()
	case field.Kind() == reflect.Bool:
		field.SetBool(n != 0)
	case field.CanInt():
		field.SetInt(n)
	default:
		return false
	}
	return true
}
