package dbtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/infra/db"
)

// IsSQLite reports whether the engine of a database is SQLite.
func IsSQLite(tb testing.TB, d *db.DB) bool {
	tb.Helper()
	_, err := db.One[string](tb.Context(), d, nil, `SELECT sqlite_version()`)
	return err == nil
}

// Waiting returns how many transactions wait for a lock, on SQLite for their turn.
func Waiting(ctx context.Context, d *db.DB) (int, error) {
	n, err := db.One[int](ctx, d, nil, `
		SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	if err == nil {
		return n, nil
	}
	if _, postgres := db.One[string](ctx, d, nil, `SELECT sqlite_version()`); postgres != nil {
		return 0, err
	}
	_, n, _ = d.Stats()
	return n, nil
}

// Statements returns how many statements have been run.
func Statements(d *db.DB) int64 {
	n, _, _ := d.Stats()
	return n
}

// AwaitWaiting returns once n transactions wait, as [Waiting] counts them, or have sent to one of the channels.
func AwaitWaiting[T any](ctx context.Context, d *db.DB, n int, done ...<-chan T) error {
	for tick := time.Tick(time.Millisecond); ; <-tick {
		ended := 0
		for _, c := range done {
			ended += len(c)
		}
		waiting, err := Waiting(ctx, d)
		if ended+waiting >= n || err != nil {
			return err
		}
	}
}

// Meanwhile returns start, which starts each do, once, and returns when all wait for a lock of the caller (on SQLite, for
// their turns); end waits until all have ended.
func Meanwhile(tb testing.TB, d *db.DB, do ...func() error) (start, end func()) {
	tb.Helper()
	done := make(chan error, len(do))
	start = sync.OnceFunc(func() {
		for _, do := range do {
			go func() { done <- do() }()
		}
		ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
		defer cancel()
		if err := AwaitWaiting[error](ctx, d, len(do)); err != nil {
			tb.Error("nobody waits:", err)
		}
	})
	return start, func() {
		tb.Helper()
		for range do {
			if err := <-done; err != nil {
				tb.Error(err)
			}
		}
	}
}

// Vacuum does what PostgreSQL's autovacuum would do later: it collects statistics, and marks pages that an index may be
// read without. SQLite does without.
func Vacuum(tb testing.TB, d *db.DB) {
	tb.Helper()
	if IsSQLite(tb, d) {
		return
	}
	if _, err := db.All[string](tb.Context(), d, nil, `VACUUM ANALYZE`); err != nil {
		tb.Fatal(err)
	}
}

// Explain returns the steps of the engine's plan for a query.
func Explain(tb testing.TB, d *db.DB, query string, args ...any) []string {
	tb.Helper()
	explain, detail := `EXPLAIN `, func(s *string) []any { return []any{s} }
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

// ExplainPrepared is Explain for a statement that is run again and again: PostgreSQL then plans it without its arguments.
func ExplainPrepared(tb testing.TB, d *db.DB, query string, args ...any) (steps []string) {
	tb.Helper()
	if IsSQLite(tb, d) {
		return Explain(tb, d, query, args...)
	}
	err := d.InTx(tb.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, before := range []string{`SET LOCAL plan_cache_mode = force_generic_plan`, `PREPARE explained AS ` + query} {
			if err := db.Exec(ctx, tx, before); err != nil {
				return err
			}
		}
		var err error
		steps, err = db.All[string](ctx, tx, nil, `EXPLAIN EXECUTE explained (NULL`+strings.Repeat(`, NULL`, len(args)-1)+`)`)
		return errors.Join(err, db.Exec(ctx, tx, `DEALLOCATE explained`))
	})
	if err != nil {
		tb.Fatal(err)
	}
	return steps
}
