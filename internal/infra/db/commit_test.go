package db_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// If PostgreSQL answers the commit itself with an error, nothing has changed.
func TestErrorAtCommit(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	administer(t, u,
		`CREATE TABLE late (code TEXT UNIQUE DEFERRABLE INITIALLY DEFERRED)`,
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF length(NEW.code) = 5 THEN RAISE EXCEPTION 'refused' USING ERRCODE = NEW.code; END IF;
			RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
	d := dbtest.Open(t, u)
	add := func(codes ...string) error {
		return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, code := range codes {
				if _, err := db.Changed(ctx, tx, `INSERT INTO late VALUES ($1)`, code); err != nil {
					t.Errorf("%s is refused before the commit: %v", code, err)
				}
			}
			return nil
		})
	}
	wantUnavailable(t, add("40001"), "refused") // could not serialize
	if err := d.Ready(t.Context()); err != nil {
		t.Errorf("after a conflict: %v", err)
	}
	wantUnavailable(t, add("53100"), "refused") // disk full
	if err := add("22000"); !fault.Is(err, fault.Internal) {
		t.Errorf("an error in the data: %v", err)
	}
	if err := add("a", "a"); !errors.Is(err, db.ErrUnique) {
		t.Errorf("two of the same: %v", err)
	}
	if err := errors.Join(add("b"), d.Ready(t.Context())); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if left, err := db.All[string](t.Context(), d, nil, `SELECT code FROM late`); err != nil || strings.Join(left, " ") != "b" {
		t.Errorf("%q are left, %v", left, err)
	}
}

// A commit that is not sent, as its time is over, has changed nothing.
func TestTooLateToCommit(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t)) // on SQLite, callers wait for the commit
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := d.InTx(ctx, func(within context.Context, tx *db.Tx) error {
		_, err := db.Changed(within, tx, makeUser, "a", false, d.Now())
		<-ctx.Done()
		return err
	})
	wantUnavailable(t, err, "deadline exceeded")
	if err := d.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	wantUsers(t, d, 0)
}

// If the log of SQLite cannot grow at the commit, as with a quota that is used up, nothing has changed. It goes on once
// there is room. Not parallel: the limit applies to the whole process.
func TestNoRoomAtCommit(t *testing.T) { //nolint:paralleltest // see above
	path := filepath.Join(t.TempDir(), "foyer.db")
	d := dbtest.Open(t, "sqlite:"+path)
	dbtest.Exec(t, d, makeUser, "a", false, d.Now())
	log, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	add := func() error {
		return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := db.Changed(ctx, tx, makeUser, "b"+strings.Repeat("x", 64<<10), false, d.Now())
			if err != nil {
				t.Errorf("refused before the commit: %v", err)
			}
			return err
		})
	}
	err = dbtest.WithinFileSize(t, uint64(log.Size())+8<<10, func() error { //nolint:gosec // a size is never negative
		wantUnavailable(t, add(), "database or disk is full: file too large")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantUsers(t, d, 1)
	if err := add(); err != nil {
		t.Errorf("with room: %v", err)
	}
	wantUsers(t, d, 2)
}
