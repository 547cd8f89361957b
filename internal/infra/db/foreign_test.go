package db_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/backup"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/db/sqlite"
)

// another makes a database of another program.
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

// Pointing foyer at another program's database by mistake must not change it.
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
				"backup": func() error { return backup.Make(t.Context(), "sqlite:"+path, path+".copy") },
			} {
				if err := do(); !errors.Is(err, sqlite.ErrForeign) || !strings.Contains(err.Error(), path) {
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

// So does one on PostgreSQL, which has tables of the same names.
func TestAnotherProgramsTablesAreLeftAlone(t *testing.T) {
	t.Parallel()
	address := dbtest.Empty(t)
	administer(t, address, `CREATE TABLE users (id INT)`)
	if d, err := db.Open(t.Context(), address); err == nil || !strings.Contains(err.Error(), `relation "users" already exists`) {
		t.Errorf("%v, %v", d, err)
	}
	// It fails if there is such a table by now.
	administer(t, address, `CREATE TABLE migrations (id INT)`)
}

func TestEmptyFileBecomesADatabase(t *testing.T) {
	t.Parallel()
	dbtest.Open(t, "sqlite:"+another(t))
	dbtest.Open(t, "sqlite:"+another(t, `PRAGMA user_version = 1`))
}

func TestDamageNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "foyer.db")
	url := "sqlite:" + path
	d, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for name, content := range map[string][]byte{
		"no header":       bytes.Repeat([]byte("damaged "), page),
		"the first page":  append(bytes.Clone(sound[:page]), bytes.Repeat([]byte{0x5a}, len(sound)-page)...),
		"the first pages": append(bytes.Clone(sound[:3*page]), bytes.Repeat([]byte{0x5a}, len(sound)-3*page)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "foyer.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := db.Open(t.Context(), "sqlite:"+path)
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("open: %v; want an error that begins with %s", err, path)
			}
			err = backup.Make(t.Context(), "sqlite:"+path, path+".copy")
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("backup: %v; want an error that begins with %s", err, path)
			}
		})
	}
}

// So does damage that is found only later, by a query or in a transaction.
func TestDamageOfATable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "foyer.db")
	d, err := db.Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, d, `CREATE TABLE notes (item TEXT)`)
	dbtest.Exec(t, d, `INSERT INTO notes (item) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT 'note' FROM n`)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	half := content[len(content)/2:] // of the table
	copy(half, bytes.Repeat([]byte{0x5a}, len(half)))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	d = dbtest.Open(t, "sqlite:"+path)
	count := func(ctx context.Context, q db.Querier) error {
		_, err := db.One[int](ctx, q, nil, `SELECT COUNT(item) FROM notes`)
		return err
	}
	for what, err := range map[string]error{
		"query":       count(t.Context(), d),
		"view":        d.View(t.Context(), count),
		"transaction": d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return count(ctx, tx) }),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v; want an error that begins with %s", what, err, path)
		}
	}
}

// A database that another program keeps locked is an error within seconds.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a time limit")
	}
	path := another(t)
	c, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(`BEGIN EXCLUSIVE`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := db.Open(ctx, "sqlite:"+path); !sqlite.Says(err, sqlite.Busy) {
		t.Errorf("got %v", err)
	}
}
