package db

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Null stores *v as NULL if it is empty or zero, and scans it back: a text for JSON columns, an optional reference, or a
// time.
func Null[T string | int64 | time.Time](v *T) nullable[T] { return nullable[T]{v} }

type nullable[T string | int64 | time.Time] struct{ v *T }

// Value implements driver.Valuer.
func (n nullable[T]) Value() (driver.Value, error) {
	switch v := any(*n.v).(type) {
	case string:
		if v != "" {
			return v, nil
		}
	case int64:
		if v != 0 {
			return v, nil
		}
	case time.Time:
		if !v.IsZero() {
			return v, nil
		}
	}
	return nil, nil
}

// Scan implements sql.Scanner.
func (n nullable[T]) Scan(src any) error {
	value := src
	switch v := src.(type) {
	case nil:
		*n.v = *new(T)
		return nil
	case []byte:
		value = string(v)
	}
	scanned, ok := value.(T)
	if !ok {
		return fmt.Errorf("scan %T: unexpected %T", n.v, src)
	}
	*n.v = scanned
	return nil
}
