package db

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Text stores *s as a text that is NULL when it is empty, and scans it back; for
// JSON columns and optional references.
func Text(s *string) nullText { return nullText{s} }

type nullText struct{ s *string }

// Value implements driver.Valuer.
func (n nullText) Value() (driver.Value, error) {
	if *n.s == "" {
		return nil, nil
	}
	return *n.s, nil
}

// Scan implements sql.Scanner.
func (n nullText) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*n.s = ""
	case string:
		*n.s = v
	case []byte:
		*n.s = string(v)
	default:
		return fmt.Errorf("scan text: unexpected %T", src)
	}
	return nil
}

// Time stores *t as a time that is NULL when it is zero, and scans it back.
func Time(t *time.Time) nullTime { return nullTime{t} }

type nullTime struct{ t *time.Time }

// Value implements driver.Valuer.
func (n nullTime) Value() (driver.Value, error) {
	if n.t.IsZero() {
		return nil, nil
	}
	return *n.t, nil
}

// Scan implements sql.Scanner.
func (n nullTime) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*n.t = time.Time{}
	case time.Time:
		*n.t = v.UTC()
	default:
		return fmt.Errorf("scan time: unexpected %T", src)
	}
	return nil
}
