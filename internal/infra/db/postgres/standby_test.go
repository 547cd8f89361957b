//go:build linux

package postgres_test

import (
	"context"
	"strings"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A standby is refused, or skipped if the url names another host.
func TestStandby(t *testing.T) {
	t.Parallel()
	primary := dbtest.NewCluster(t)
	standby := primary.Replica(t)
	d, err := db.Open(t.Context(), standby.URL())
	if err == nil {
		d.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "standby") {
		t.Errorf("got %v", err)
	}
	behind, first := standby.Relay(t)
	ahead, _ := primary.Relay(t)
	d = dbtest.Open(t, strings.Replace(first, behind.Address, behind.Address+","+ahead.Address, 1))
	if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return db.Exec(ctx, tx, `CREATE TABLE made (id INT)`) }); err != nil {
		t.Error(err)
	}
}
