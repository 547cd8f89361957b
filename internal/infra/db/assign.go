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
	if kind == sqlite.Integer && assignInt(dest, row.Int(column)) || kind == sqlite.Text && assignText(dest, row, column) {
		return nil
	}
	if kind == sqlite.Text && reflect.TypeOf(dest).Elem().Kind() == reflect.Slice {
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

func assignText(dest any, row *sqlite.Stmt, column int) bool {
	switch d := dest.(type) {
	case *string:
		*d = row.Text(column)
		return true
	default:
		field := reflect.ValueOf(dest).Elem()
		if field.Kind() != reflect.String {
			return false
		}
		field.SetString(row.Text(column))
		return true
	}
}

// assignInt converts a number from the database, see sqliteValue.
func assignInt(dest any, n int64) bool {
	switch d := dest.(type) {
	case *int64:
		*d = n
	case *int:
		*d = int(n)
	case *bool:
		*d = n != 0
	case *time.Time:
		*d = time.UnixMicro(n).UTC()
	default:
		field := reflect.ValueOf(dest).Elem()
		if !field.CanInt() {
			return false
		}
		field.SetInt(n)
	}
	return true
}
