package sqlite_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"foyer/internal/infra/db/sqlite"
)

func open(t *testing.T, path string) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.Open(path, "journal_mode = WAL", "synchronous = FULL")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func text(s string) sqlite.Value { return sqlite.Value{Kind: sqlite.Text, Text: s} }

func number(n int64) sqlite.Value { return sqlite.Value{Kind: sqlite.Integer, Int: n} }

// run returns the first row, as texts.
func run(t *testing.T, c *sqlite.Conn, query string, values ...sqlite.Value) ([]string, error) {
	t.Helper()
	s, err := c.Prepare(query)
	if err != nil {
		return nil, err
	}
	if err := s.Bind(values); err != nil {
		return nil, err
	}
	defer s.Reset()
	row, err := s.Step()
	if err != nil || !row {
		return nil, err
	}
	first := []string{}
	for i := range s.Columns() {
		if s.Kind(i) == sqlite.Null {
			first = append(first, "NULL")
		} else {
			first = append(first, s.Text(i))
		}
	}
	return first, nil
}

// Arguments are identified by number, not by position; a statement is reused with texts of any length.
func TestArguments(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "a b?c%20.db"))
	long := strings.Repeat("ö", 100_000)
	for _, test := range []struct {
		values []sqlite.Value
		want   string
	}{
		{[]sqlite.Value{text(""), {}, text("")}, "  NULL "}, // before there is room for texts
		{[]sqlite.Value{text("a"), text("b"), text("c")}, "c a b a"},
		{[]sqlite.Value{text(long), number(-5), text("c")}, "c " + long + " -5 " + long},
		{[]sqlite.Value{number(1), text("x"), {}}, "NULL 1 x 1"},
	} {
		got, err := run(t, c, `SELECT $3, $1, $2, $1`, test.values...)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("got %.100q, %v; want %.100q", got, err, test.want)
		}
	}
}

// Row locks are for PostgreSQL only.
func TestRowLocks(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "a b?c%20.db"))
	for _, query := range []string{
		`SELECT $1 FOR UPDATE`, "SELECT $1\n\tFOR UPDATE", `SELECT $1 FROM (SELECT 1) i, (SELECT 2) u FOR UPDATE OF i SKIP LOCKED FOR KEY SHARE OF u`,
		`SELECT $1 WHERE 1 IN (SELECT 1 LIMIT 1 FOR UPDATE SKIP LOCKED) OR 2 IN (SELECT 2 FOR KEY SHARE)`,
	} {
		if got, err := run(t, c, query, text("a")); err != nil || !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: got %q, %v", query, got, err)
		}
	}
}

func TestWrongStatements(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "a b?c%20.db"))
	for _, query := range []string{`SELECT $0`, `SELECT $2`, `SELECT ?`, `SELECT $a`, `SELECT $1x`, `SELECT $01`, `SELECT FROM`, `SELECT 1; SELECT 2`, ``, `-- none`} {
		if _, err := run(t, c, query, text("a")); err == nil {
			t.Errorf("%s went through", query)
		}
	}
}

// A failed statement works again after a reset.
func TestErrorHasCode(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO t (a) VALUES ($1)`
	c := open(t, filepath.Join(t.TempDir(), "a b?c%20.db"))
	if _, err := run(t, c, `CREATE TABLE t (a TEXT UNIQUE)`); err != nil {
		t.Fatal(err)
	}
	for i, wantCode := range []int{0, 2067, 2067} {
		_, err := run(t, c, insert, text("a"))
		if e, _ := errors.AsType[*sqlite.Error](err); (e != nil) != (i > 0) || e != nil && e.Code != wantCode {
			t.Errorf("insert %d: got %v, want code %d", i, err, wantCode)
		}
	}
	if _, err := run(t, c, insert, text("b")); err != nil || c.Changes() != 1 {
		t.Errorf("got %v and %d changes", err, c.Changes())
	}
}

// An error of SQLite says its text once.
func TestErrorIsSaidOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	c, other := open(t, path), open(t, path)
	for _, statement := range []string{`CREATE TABLE t (a TEXT)`, `BEGIN`, `SELECT a FROM t`} {
		if _, err := run(t, other, statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Exec("PRAGMA journal_mode = DELETE"); err == nil || err.Error() != "database is locked (5)" {
		t.Errorf("got %v", err)
	}
}

func TestOpenNoDatabase(t *testing.T) {
	t.Parallel()
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none", "x.db"), "sqlite_test.go"} {
		if _, err := sqlite.Open(path, "journal_mode = WAL"); err == nil {
			t.Errorf("%s: opened", path)
		}
	}
}

// A connection can run more statements than it caches while one of them has more rows.
func TestManyStatements(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "foyer.db"))
	open, err := c.Prepare("VALUES (1), (2), (3)")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Reset()
	for row := range 3 {
		if more, err := open.Step(); err != nil || !more || open.Text(0) != strconv.Itoa(row+1) {
			t.Fatalf("row %d: %t, %v", row, more, err)
		}
		for i := range 1500 {
			want := strconv.Itoa(i)
			if got, err := run(t, c, "SELECT "+want); err != nil || got[0] != want {
				t.Fatalf("statement %d: %v, %v", i, got, err)
			}
		}
	}
	if kept := c.Kept(); kept > 1000 {
		t.Errorf("%d statements are kept", kept)
	}
}
