// Package dbtest opens databases for tests, on both engines.
package dbtest

import (
	"context"
	"path/filepath"
	"testing"

	"foyer/internal/infra/db"
)

// Each runs test once for each engine, in parallel.
func Each(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	EachURL(t, func(t *testing.T, url string) { test(t, Open(t, url)) })
}

// EachURL is Each for tests that open the database themselves: SQLite's does not exist yet, PostgreSQL's has only the
// schema.
func EachURL(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
}

// Open opens the database and closes it at the end of the test.
func Open(tb testing.TB, url string) *db.DB {
	tb.Helper()
	d, err := db.Open(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// Exec runs a statement in a transaction of its own.
func Exec(tb testing.TB, d *db.DB, query string, args ...any) {
	tb.Helper()
	err := d.InTx(tb.Context(), func(ctx context.Context, tx *db.Tx) error { return db.Exec(ctx, tx, query, args...) })
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// InTurkish opens a PostgreSQL database in which a column has a Turkish collation: there, I is not the capital of i.
func InTurkish(tb testing.TB, table, column string) *db.DB {
	tb.Helper()
	d := Open(tb, Postgres(tb))
	Exec(tb, d, `ALTER TABLE `+table+` ALTER COLUMN `+column+` TYPE TEXT COLLATE "tr-x-icu"`)
	return d
}
