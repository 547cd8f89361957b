package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"foyer/internal/infra/db/postgres"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Reasons to refuse an unknown schema.
var (
	errForeign = errors.New("the table migrations is another program's: give foyer a database of its own")
	errNewer   = errors.New("the database was made by a newer foyer")
	errOlder   = errors.New("the database was made by a foyer from before its first release, which this one cannot upgrade: start with an empty database")
)

// firstMigration is the name of the first migration; those before it were never released.
const firstMigration = "1600_schema.sql"

// migrate runs, in the order of their names, all migrations that are not recorded as done. Both engines share the files,
// except for a few words.
func (d *DB) migrate(ctx context.Context) error {
	const selectApplied = `SELECT name FROM migrations ORDER BY name`
	done, unknown := All[string](ctx, d, nil, selectApplied)
	if unknown != nil { // the database is empty, or nothing works
		err := d.migrateFile(ctx, firstMigration)
		if err != nil {
			// Two servers that start together on an empty PostgreSQL database collide here, in spite of IF NOT EXISTS.
			// The table exists by now.
			err = d.migrateFile(ctx, firstMigration)
		}
		if err == nil {
			done, err = All[string](ctx, d, nil, selectApplied)
		}
		if err != nil {
			return fmt.Errorf("migrate: %w (%w)", unknown, withOwner(err))
		}
	}
	files, err := migrations.ReadDir("migrations") // sorted
	if err != nil {
		return err
	}
	if err := checkKnown(done, files[len(files)-1].Name()); err != nil {
		return err
	}
	for _, file := range files {
		if slices.Contains(done, file.Name()) {
			continue
		}
		if err := d.migrateFile(ctx, file.Name()); err != nil {
			return fmt.Errorf("migrate %s: %w", file.Name(), withOwner(err))
		}
	}
	return nil
}

// withOwner adds to the error of a role without the right to change the schema which role has it.
func withOwner(err error) error {
	if postgres.Says(err, postgres.NotPrivileged) {
		return fmt.Errorf("%w: run `foyer admin migrate` as the role that owns the database, and grant this one what docs/operating.md says", err)
	}
	return err
}

// ours matches the names of migrations of any foyer.
var ours = regexp.MustCompile(`^\d{4}_.*\.sql$`)

// checkKnown refuses the schema of another program or another foyer, given its migrations and the last one of this foyer.
func checkKnown(done []string, last string) error {
	for _, name := range done {
		switch {
		case !ours.MatchString(name):
			return fmt.Errorf("%w (it has %s)", errForeign, name)
		case name < firstMigration:
			return fmt.Errorf("%w (it has %s)", errOlder, name)
		case name > last:
			return fmt.Errorf("%w: it has %s, this one knows up to %s", errNewer, name, last)
		}
	}
	return nil
}

func (d *DB) migrateFile(ctx context.Context, name string) error {
	text, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return err
	}
	words := postgresWords
	if d.sqlite != nil {
		words = sqliteWords
	}
	return d.inMigration(ctx, func(ctx context.Context, tx *Tx) error {
		// In the same transaction, so that another program's database, where the rest fails, stays as it is.
		if _, err := Changed(ctx, tx, `CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)`); err != nil {
			return err
		}
		n, err := Changed(ctx, tx, `INSERT INTO migrations (name) VALUES ($1) ON CONFLICT DO NOTHING`, name)
		if err != nil || n == 0 {
			return err // n == 0: another server has just done it
		}
		for _, statement := range statements(words.Replace(string(text))) {
			if _, err := Changed(ctx, tx, statement); err != nil { // not delayed: the next statement may use its tables
				return err
			}
		}
		return nil
	})
}

// inMigration is InTx without timeouts, even for locks: another server may be migrating. The last of the settings exists
// since PostgreSQL 17.
func (d *DB) inMigration(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return d.InTx(ctx, func(ctx context.Context, tx *Tx) error {
		if d.postgres != nil {
			const endless = `SELECT set_config(name, '0', TRUE) FROM pg_settings WHERE name IN ('lock_timeout', 'statement_timeout', 'transaction_timeout')`
			if err := Exec(ctx, tx, endless); err != nil {
				return err
			}
		}
		return fn(ctx, tx)
	})
}

// statements splits a migration at semicolons at the end of a line. It drops comment lines, including statements for the
// other engine.
func statements(script string) []string {
	var all []string
	for s := range strings.SplitSeq(comments.ReplaceAllString(script, ""), ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

var comments = regexp.MustCompile(`(?m)^--.*\n`)
