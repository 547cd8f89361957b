package db

import (
	"database/sql"
	"errors"
	"fmt"
	"net"

	"foyer/internal/infra/db/postgres"
	"foyer/internal/infra/db/sqlite"
)

// Errors that mean the same on both engines.
var (
	ErrNoRow     = sql.ErrNoRows
	ErrUnique    = errors.New("unique constraint violated")
	ErrReference = errors.New("foreign key constraint violated")
)

// errLate says what the errors of context and net do not: that the database was too slow.
var errLate = errors.New("the database did not answer in time")

// classify turns each engine's error of a violated constraint into ErrUnique or ErrReference, says of a timeout that it
// was the database's, and marks errors of an unavailable database.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if v := violated(err); v != nil {
		return fmt.Errorf("%w: %w", v, err)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() && !errors.Is(err, errLate) {
		err = fmt.Errorf("%w: %w", errLate, err)
	}
	_, marked := errors.AsType[unavailable](err)
	if _, unsure := errors.AsType[uncertain](err); marked || unsure || !isUnavailable(err) {
		return err
	}
	return unavailable{err}
}

func violated(err error) error {
	const sqliteUnique, sqlitePrimaryKey, sqliteForeignKey = 2067, 1555, 787
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code {
		case sqliteUnique, sqlitePrimaryKey:
			return ErrUnique
		case sqliteForeignKey:
			return ErrReference
		}
	}
	switch {
	case postgres.Says(err, postgres.UniqueViolation):
		return ErrUnique
	case postgres.Says(err, postgres.ForeignKeyViolation):
		return ErrReference
	}
	return nil
}
