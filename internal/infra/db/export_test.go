package db

import (
	"context"
	"time"
)

// InMigration runs fn as a migration is run.
func (d *DB) InMigration(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return d.inMigration(ctx, fn)
}

// SetPatience sets how long a query or a transaction of d may take on PostgreSQL.
func (d *DB) SetPatience(limit time.Duration) { d.postgres.patience = limit }

// What decides how long SQLite's log gets.
var (
	LogPages  = logPages
	FreeSpace = freeSpace
)

// What is refused.
var (
	ErrNewer  = errNewer
	ErrOlder  = errOlder
	ErrInside = errInside
)
