package db_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
	"foyer/internal/db/sqlite"
)

// another makes the database of another program.
func another(t *testing.T, statements ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "shop.db")
	c, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		s, err := c.Prepare(statement)
		if err == nil {
			err = s.Run()
		}
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// What another program keeps must survive that foyer is pointed at it by mistake.
func TestAnotherProgramsDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"table":              {`CREATE TABLE orders (id INTEGER)`},
		"WAL":                {`PRAGMA journal_mode = WAL`, `CREATE TABLE orders (id INTEGER)`},
		"its own migrations": {`CREATE TABLE migrations (id INTEGER, name TEXT)`},
	}
	for name, statements := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := another(t, statements...)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for what, do := range map[string]func() error{
				"open": func() error {
					_, err := db.Open(t.Context(), "sqlite:"+path)
					return err
				},
				"backup": func() error { return db.Backup(t.Context(), "sqlite:"+path, path+".copy") },
			} {
				if err := do(); !errors.Is(err, db.ErrForeign) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v; want ErrForeign that names the file", what, err)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file has changed, %v", err)
			}
			if left, err := filepath.Glob(path + "?*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestEmptyFileBecomesADatabase(t *testing.T) {
	t.Parallel()
	dbtest.Open(t, "sqlite:"+another(t))
	dbtest.Open(t, "sqlite:"+another(t, `PRAGMA user_version = 1`))
}
