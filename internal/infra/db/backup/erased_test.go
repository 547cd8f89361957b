package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/backup"
)

// Rows that are deleted after a restore are nowhere in the file, not even where they were during the backup.
func TestErasedAfterRestore(t *testing.T) {
	t.Parallel()
	url, path := sqliteURL(t)
	d, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		addOrganization(t, d, fmt.Sprintf("secret-%d", i))
		addOrganization(t, d, fmt.Sprintf("stays-%d", i))
	}
	err = errors.Join(backup.Make(t.Context(), url, path+".copy"), d.Close(), backup.Restore(t.Context(), path+".copy", url, true, asItWas))
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(content, []byte("secret-"))
	}
	if n := count(); n < 100 {
		t.Fatalf("%d times before", n)
	}
	if d, err = db.Open(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	erase := func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(ctx, tx, `DELETE FROM organizations WHERE id LIKE 'secret-%'`)
	}
	if err := errors.Join(d.InTx(t.Context(), erase), d.Close()); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 0 {
		t.Errorf("it is still there %d times", n)
	}
}
