package db_test

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// administer runs statements in a database without foyer. $name is replaced by the name of the database.
func administer(t *testing.T, address string, statements ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // for cleanups
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, strings.ReplaceAll(s, "$name", conn.Config().Database)); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// conns returns an address that limits the number of connections.
func conns(t *testing.T, address, most string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("pool_max_conns", most)
	u.RawQuery = q.Encode()
	return u.String()
}

// A commit is on disk when it returns, erased data is overwritten, and only the owner reads the files.
func TestSettingsOfSQLite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "foyer.db")
	d := dbtest.Open(t, "sqlite:"+file)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for name, want := range map[string]int{"synchronous": 2, "foreign_keys": 1, "secure_delete": 1} {
			if got, err := db.One[int](ctx, tx, nil, `PRAGMA `+name); err != nil || got != want {
				t.Errorf("%s: %d, %v; want %d", name, got, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name, want := range map[string]fs.FileMode{filepath.Dir(file): 0o700, file: 0o600, file + "-wal": 0o600, file + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %v, want %v", name, got, want)
		}
	}
}

// An administrator's settings for others do not affect foyer.
func TestSettingsOfTheSession(t *testing.T) {
	t.Parallel()
	address := dbtest.Empty(t)
	administer(t, address,
		`ALTER DATABASE $name SET default_transaction_isolation = 'serializable'`,
		`ALTER DATABASE $name SET client_encoding = 'LATIN1'`,
		`ALTER DATABASE $name SET statement_timeout = '1min'`)
	d := dbtest.Open(t, address)
	settings := func(want map[string]string) func(context.Context, *db.Tx) error {
		return func(ctx context.Context, tx *db.Tx) error {
			for name, want := range want {
				got, err := db.One[string](t.Context(), tx, nil, `SELECT current_setting($1)`, name)
				if err != nil || got != want {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			return nil
		}
	}
	err := d.InTx(t.Context(), settings(map[string]string{
		"transaction_isolation": "read committed", "client_encoding": "UTF8",
		"idle_in_transaction_session_timeout": "10s", "lock_timeout": "10s",
	}))
	if err != nil {
		t.Error(err)
	}
	if err := d.InMigration(t.Context(), settings(map[string]string{"lock_timeout": "0", "statement_timeout": "0"})); err != nil {
		t.Error(err)
	}
}

// Opening an unsuitable database fails with the reason.
func TestRefusedDatabases(t *testing.T) {
	t.Parallel()
	address := dbtest.Postgres(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	administer(t, address, `CREATE DATABASE $name_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
	latin := *u
	latin.Path += "_latin"
	t.Cleanup(func() { administer(t, address, `DROP DATABASE $name_latin WITH (FORCE)`) })
	for name, tc := range map[string]struct{ address, want string }{
		"encoding":         {latin.String(), "encoding of the database is LATIN1: it must be UTF8"},
		"few connections":  {conns(t, address, "4"), "pool_max_conns must be from 5 to 20"},
		"many connections": {conns(t, address, "21"), "pool_max_conns must be from 5 to 20"},
		"no connections":   {conns(t, address, "0"), "pool_max_conns too small"},
		"connections":      {conns(t, address, "many"), "cannot parse pool_max_conns"},
		"health checks":    {"postgres://joe:s3cret@127.0.0.1/x?pool_health_check_period=0s", "pool_health_check_period must be more than 0"},
		"port":             {"postgres://joe:s3cret@127.0.0.1:99999999/x", "the url of the database: invalid port"},
		"session":          {"postgres://joe:s3cret@127.0.0.1/x?target_session_attrs=readwrite", "unknown target_session_attrs value"},
		"timeout":          {"postgres://joe:s3cret@127.0.0.1/x?connect_timeout=abc", "invalid connect_timeout"},
		"sslmode":          {"postgres://joe:s3cret@127.0.0.1/x?sslmode=often", "the url of the database: failed to configure TLS (sslmode is invalid)"},
		"sslrootcert":      {"postgres://joe:s3cret@127.0.0.1/x?sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem"},
		"url":              {"postgres://joe:s3/cret@127.0.0.1/x", "the url of the database is not well-formed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := db.Open(t.Context(), tc.address)
			if err == nil {
				d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "cret") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// A server that is temporarily read-only, for example because its disk is full, still serves reads.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	address := dbtest.Postgres(t)
	administer(t, address, `ALTER DATABASE $name SET default_transaction_read_only = on`)
	d := dbtest.Open(t, address)
	change := func() error {
		return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return db.Exec(ctx, tx, `DELETE FROM users`) })
	}
	for range 3 {
		wantUnavailable(t, change(), "read-only")
		if one, inTx := ask(t.Context(), d); one != nil || inTx != nil {
			t.Error(one, inTx)
		}
	}
	administer(t, address, `SET default_transaction_read_only = off`, `ALTER DATABASE $name RESET default_transaction_read_only`)
	wantUnavailable(t, change(), "read-only") // on a connection from before the change
	if err := change(); err != nil {
		t.Error(err)
	}
}

// One role may change the schema, and another use it, with the rights that docs/operating.md grants.
func TestRoleThatMayNotCreate(t *testing.T) {
	t.Parallel()
	address := dbtest.Postgres(t)
	dbtest.Open(t, address)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	role := path.Base(u.Path) + "_clerk"
	text, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	grants := regexp.MustCompile(`(?m)^ *((?:GRANT|ALTER DEFAULT).* TO )foyer;`).FindAllSubmatch(text, -1)
	if len(grants) == 0 {
		t.Fatal("no grants are documented")
	}
	statements := []string{`CREATE ROLE ` + role + ` LOGIN`}
	for _, m := range grants {
		statements = append(statements, string(m[1])+role)
	}
	administer(t, address, statements...)
	t.Cleanup(func() { administer(t, address, `DROP OWNED BY `+role, `DROP ROLE `+role) })
	u.User = url.User(role)
	d := dbtest.Open(t, conns(t, u.String(), "5"))
	dbtest.Exec(t, d, makeUser, "ada", false, d.Now())
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		id, err := db.Insert(ctx, tx, makeUser, "ben", false, d.Now())
		if err != nil {
			return err
		}
		return db.Exec(ctx, tx, `DELETE FROM users WHERE id = $1`, id)
	})
	if err != nil {
		t.Error(err)
	}
	if n, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users`); err != nil || n != 1 {
		t.Errorf("%d users, %v", n, err)
	}
}

// If a role may not change the schema of an empty database or after an upgrade, the error says which role may.
func TestRoleThatMayNotMigrate(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(address string){
		"empty": func(string) {},
		"upgraded": func(address string) {
			dbtest.Open(t, address)
			administer(t, address, `DELETE FROM migrations`, `GRANT SELECT, INSERT ON migrations TO PUBLIC`)
		},
	} {
		address := dbtest.Empty(t)
		prepare(address)
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		role := path.Base(u.Path) + "_clerk"
		administer(t, address, `CREATE ROLE `+role+` LOGIN`)
		t.Cleanup(func() { administer(t, address, `DROP ROLE `+role) })
		u.User = url.User(role)
		if _, err := db.Open(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(), "run `foyer admin migrate` as the role that owns the database") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Connections to a server that becomes read-only are closed, so that another host can be used.
func TestServerThatBecomesAStandby(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	dbtest.Exec(t, d, `SET default_transaction_read_only = on`) // only on one connection
	var errs []error
	for range 3 {
		errs = append(errs, d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(t.Context(), tx, `DELETE FROM users`)
		}))
	}
	if errs[0] == nil || errs[1] != nil || errs[2] != nil {
		t.Errorf("got %v, want only the first refused", errs)
	}
}
