package server_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"foyer/internal/config"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/server"
)

// inHundredDays opens a database on which a server may be at work, with a clock that is as much ahead.
func inHundredDays(t *testing.T, database string) *server.Domain {
	t.Helper()
	cfg := config.Config{Database: database, Secret: "a secret that all servers of the tests share", Listen: "127.0.0.1:0"}
	d := must[*server.Domain](t)(server.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)))
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	now := d.DB.Now
	d.DB.Now = func() time.Time { return now().Add(100 * 24 * time.Hour) }
	return d
}

// What cannot be tidied keeps nothing else from its turn.
func TestTidyGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		d := inHundredDays(t, database)
		err := d.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(
				db.Exec(ctx, tx, `DROP TABLE site_counts`),
				db.Exec(ctx, tx, `DROP TABLE address_changes`),
				db.Exec(ctx, tx, `INSERT INTO signin_states (hash, expires_at) VALUES ('old', $1)`, d.DB.Now().Add(-time.Hour)))
		})
		if err != nil {
			t.Fatal(err)
		}
		err = d.Tidy(t.Context(), 0)
		for _, failed := range []string{"tidy sites: ", "tidy changes of addresses: "} {
			if err == nil || !strings.Contains(err.Error(), failed) {
				t.Errorf("%v, want %q", err, failed)
			}
		}
		if left, err := db.All(t.Context(), d.DB, db.Value[string], `SELECT hash FROM signin_states`); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}
