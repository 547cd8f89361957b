package db_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// The log leaves room for the database to grow on a small file system.
func TestLogPages(t *testing.T) {
	t.Parallel()
	for free, want := range map[uint64]int64{0: 1000, 8 << 20: 1000, 32 << 20: 2048, 64 << 20: 4096, 1 << 30: 16000, math.MaxUint64: 16000} {
		if got := db.LogPages(free); got != want {
			t.Errorf("with %d bytes free: %d pages, want %d", free, got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "foyer.db")
	d := dbtest.Open(t, "sqlite:"+path)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		got, err := db.One[int64](t.Context(), tx, nil, `PRAGMA wal_autocheckpoint`)
		if want := db.LogPages(db.FreeSpace(path)); got != want {
			t.Errorf("%d pages, want %d", got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if free := db.FreeSpace("/nowhere"); free != math.MaxUint64 {
		t.Errorf("%d bytes are free nowhere", free)
	}
}

// If somebody reads, Purge reports that deleted data is still in the log; afterwards it empties the log.
func TestPurgeWhileSomebodyReads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "foyer.db")
	d := dbtest.Open(t, "sqlite:"+path)
	err := d.View(t.Context(), func(ctx context.Context, q db.Querier) error {
		if _, err := db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM users`); err != nil {
			return err
		}
		dbtest.Exec(t, d, makeUser, "secretperson", false, d.Now())
		dbtest.Exec(t, d, `DELETE FROM users`)
		return d.Purge()
	})
	if err == nil || !strings.HasPrefix(err.Error(), "it is deleted, but what was deleted is still in the log, "+path+"-wal: somebody reads it") {
		t.Errorf("got %v", err)
	}
	purged := d.Purge()
	if log, err := os.ReadFile(path + "-wal"); purged != nil || err != nil || len(log) != 0 {
		t.Errorf("%v, %d bytes are in the log, %v", purged, len(log), err)
	}
}
