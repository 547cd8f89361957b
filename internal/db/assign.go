package db

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"time"
)

var errWidth = errors.New("scan: not as many fields as columns")

// assign gives a field the value of a column. Fields are texts, whole numbers,
// booleans, times, and types of those kinds; others bring their own Scan.
func assign(dest any, value driver.Value) error {
	switch d := dest.(type) {
	case sql.Scanner:
		return d.Scan(value)
	case *string:
		if s, ok := value.(string); ok {
			*d = s
			return nil
		}
	case *int64:
		if n, ok := value.(int64); ok {
			*d = n
			return nil
		}
	case *int:
		if n, ok := value.(int64); ok {
			*d = int(n)
			return nil
		}
	case *bool:
		return assignBool(d, value)
	case *time.Time:
		if t, ok := value.(time.Time); ok {
			*d = t.UTC()
			return nil
		}
	default:
		return assignKind(dest, value)
	}
	return fmt.Errorf("scan %T from a column of %T", dest, value)
}

// assignBool takes numbers too: SQLite has no booleans, and says so of whatever
// is computed.
func assignBool(dest *bool, value driver.Value) error {
	switch v := value.(type) {
	case bool:
		*dest = v
	case int64:
		*dest = v != 0
	default:
		return fmt.Errorf("scan bool from a column of %T", value)
	}
	return nil
}

// assignKind sets a field of a type that is a text or a whole number at heart.
func assignKind(dest any, value driver.Value) error {
	field := reflect.ValueOf(dest).Elem()
	switch v := value.(type) {
	case string:
		if field.Kind() == reflect.String {
			field.SetString(v)
			return nil
		}
	case int64:
		if field.CanInt() {
			field.SetInt(v)
			return nil
		}
	}
	return fmt.Errorf("scan %T from a column of %T", dest, value)
}
