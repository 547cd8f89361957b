package db_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// What SQLite needs to undo a large statement is in the folder of the database: a container may have no other folder that
// is writable. Not parallel: all databases of a process share the setting.
func TestTemporaryFilesAreBesideTheDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ada's", "foyer.db")
	d := dbtest.Open(t, "sqlite:"+path)
	const fill = `INSERT INTO large (text) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT hex(randomblob(500)) FROM n`
	dbtest.Exec(t, d, `CREATE TABLE large (text TEXT UNIQUE)`)
	dbtest.Exec(t, d, fill)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, fill); err != nil {
			return err
		}
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		for _, file := range files {
			name, _ := os.Readlink(filepath.Join("/proc/self/fd", file.Name()))
			if strings.HasPrefix(name, filepath.Dir(path)+"/") && !strings.HasPrefix(name, path) {
				return nil
			}
		}
		t.Error("none is there")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
