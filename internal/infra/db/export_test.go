package db

import (
	"context"
	"time"
)

// InMigration runs fn like a migration.
func (d *DB) InMigration(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return d.inMigration(ctx, fn)
}

// SetPatience sets the timeout of queries, and of the trips of transactions, of d on PostgreSQL.
func (d *DB) SetPatience(limit time.Duration) { d.postgres.Patience = limit }

// UseUp uses up the time that a transaction on PostgreSQL has for its trip.
func UseUp(tx *Tx) error {
	return tx.session.(*postgresTx).conn.Conn.Conn().PgConn().Conn().SetDeadline(time.Unix(1, 0)) //nolint:forcetypeassert // else the test fails
}

// These determine the length of SQLite's log.
var (
	LogPages  = logPages
	FreeSpace = freeSpace
)

// Errors that tests expect.
var (
	ErrForeign = errForeign
	ErrNewer   = errNewer
	ErrOlder   = errOlder
	ErrInside  = errInside
)
