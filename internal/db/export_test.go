package db

import (
	"context"
	"errors"
	"time"
)

// OpenAt is Open with the first migrations alone, as an earlier foyer had them.
func OpenAt(ctx context.Context, url string, names ...string) (*DB, error) {
	d, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := d.script(ctx, `CREATE TABLE migrations (name TEXT PRIMARY KEY)`); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for _, name := range names {
		if err := d.migrateFile(ctx, name); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// InMigration runs fn as a migration is run.
func (d *DB) InMigration(ctx context.Context, fn func(*Tx) error) error {
	return d.inMigration(ctx, fn)
}

// SetPatience sets how long a query or a transaction of d may take on PostgreSQL.
func (d *DB) SetPatience(limit time.Duration) { d.postgres.patience = limit }

// Refused reports whether what has traveled together may be sent again.
func Refused(err error) bool { return refused(err) }

// What decides how long SQLite's log gets.
var (
	LogPages  = logPages
	FreeSpace = freeSpace
)
