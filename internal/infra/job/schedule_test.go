package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Servers that start together enqueue the repeated jobs in the same order, so that they do not deadlock.
func TestServersThatBeginAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t) // SQLite has one transaction at a time
	d, kinds := dbtest.Open(t, url), map[string]Kind{}
	for i := range 20 {
		kinds[fmt.Sprintf("kind %02d", i)] = Kind{Every: time.Minute}
	}
	servers := []*Queue{New(dbtest.Open(t, url)), New(dbtest.Open(t, url))}
	scheduled, errUndone := make(chan bool, 2), errors.New("undone")
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `INSERT INTO jobs (kind, item, created_at, run_at, set_at) VALUES ('kind 00', '', $1, $1, $1)`, d.Now()); err != nil {
			return err
		}
		for _, q := range servers {
			go func() { scheduled <- q.does(kinds).schedule(t.Context()) }()
		}
		return cmp.Or(dbtest.AwaitWaiting(t.Context(), d, 2, scheduled), errUndone)
	})
	if !errors.Is(err, errUndone) {
		t.Error(err)
	}
	for range 2 {
		if !<-scheduled {
			t.Error("a server could not put its jobs")
		}
	}
}
