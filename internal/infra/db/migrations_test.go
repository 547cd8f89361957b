package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Two concurrent changes must not use the same number.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if want := fmt.Sprintf("%04d_", 1600+i); file.Name()[:5] != want {
			t.Errorf("%s: want %s", file.Name(), want)
		}
	}
}

// Rows that refer to another are found by an index when that one is removed: otherwise its removal reads all of them.
// Users are not removed, and organizations seldom.
func TestReferencesAreIndexed(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "foyer.db"))
	all, err := db.All[string](t.Context(), d, nil, `
		SELECT t.name || '.' || f."from" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) f
		WHERE t.type = 'table' AND f."table" NOT IN ('users', 'organizations') AND NOT EXISTS (
			SELECT 1 FROM pragma_index_list(t.name) i JOIN pragma_index_info(i.name) c WHERE c.seqno = 0 AND c.name = f."from" AND NOT i.partial)`)
	if err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}
