package dbtest

import (
	"context"
	"testing"

	"foyer/internal/infra/db"
)

// IsSQLite tells which engine a database is of.
func IsSQLite(tb testing.TB, d *db.DB) bool {
	tb.Helper()
	_, err := db.One(tb.Context(), d, db.Value[string], `SELECT sqlite_version()`)
	return err == nil
}

// Analyze has PostgreSQL know what its autovacuum finds out in time; SQLite does without.
func Analyze(tb testing.TB, d *db.DB) {
	tb.Helper()
	if IsSQLite(tb, d) {
		return
	}
	err := d.InTx(tb.Context(), func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(ctx, tx, `ANALYZE`)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// Explain returns the steps in which the engine would run a query.
func Explain(tb testing.TB, d *db.DB, query string, args ...any) []string {
	tb.Helper()
	explain, detail := `EXPLAIN `, db.Value[string]
	if IsSQLite(tb, d) {
		var id, parent, unused int
		explain, detail = `EXPLAIN QUERY PLAN `, func(s *string) []any { return []any{&id, &parent, &unused, s} }
	}
	steps, err := db.All(tb.Context(), d, detail, explain+query, args...)
	if err != nil || len(steps) == 0 {
		tb.Fatal(steps, err)
	}
	return steps
}
