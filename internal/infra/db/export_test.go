package db

import (
	"context"
	"time"
)

// InMigration runs fn like a migration.
func (d *DB) InMigration(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return d.inMigration(ctx, fn)
}

// SetPatience sets the timeout of queries and transactions of d on PostgreSQL.
func (d *DB) SetPatience(limit time.Duration) { d.postgres.Patience = limit }

// These determine the length of SQLite's log.
var (
	LogPages  = logPages
	FreeSpace = freeSpace
)

// Errors that tests expect.
var (
	ErrNewer  = errNewer
	ErrOlder  = errOlder
	ErrInside = errInside
)
