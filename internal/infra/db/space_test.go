package db_test

import (
	"context"
	"math"
	"path/filepath"
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
		got, err := db.One(t.Context(), tx, db.Value[int64], `PRAGMA wal_autocheckpoint`)
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
