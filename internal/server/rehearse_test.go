//go:build rehearse

package server_test

import (
	"context"
	"strings"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// In make rehearse, each transaction on SQLite runs twice, and the first run is undone.
func TestTransactionsAreRehearsed(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		runs, want := 0, 1
		if strings.HasPrefix(url, "sqlite:") {
			want = 2
		}
		d := dbtest.Open(t, url)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			runs++
			return db.Exec(ctx, tx, `INSERT INTO signin_states (hash, expires_at) VALUES ('once', $1)`, d.Now()) // a second one is refused
		})
		if err != nil || runs != want {
			t.Errorf("ran %d times, want %d; %v", runs, want, err)
		}
	})
}
