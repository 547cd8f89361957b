package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/backup"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/db/sqlite"
)

// addOrganization adds an organization and counts it, in one transaction.
func addOrganization(t *testing.T, d *db.DB, id string) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		err := db.Exec(t.Context(), tx, `
			INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
			VALUES ($1, 'Acme', 9, TRUE, TRUE, '', $2)`, id, d.Now())
		if err != nil {
			return err
		}
		return db.Exec(t.Context(), tx, `UPDATE plugin_counts SET own = own + 1 WHERE organization_id = ''`)
	})
	if err != nil {
		t.Error(err)
	}
}

// organizations returns how many organizations there are, and how many were counted.
func organizations(t *testing.T, d *db.DB) (rows, counted int) {
	t.Helper()
	rows, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM organizations`)
	if err != nil {
		t.Fatal(err)
	}
	if counted, err = db.One[int](t.Context(), d, nil, `SELECT own FROM plugin_counts WHERE organization_id = ''`); err != nil {
		t.Fatal(err)
	}
	return rows, counted
}

func sqliteURL(t *testing.T) (url, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "foyer.db")
	return "sqlite:" + path, path
}

// backedUp makes a database with an organization, whose backup is at path.copy, and closes it.
func backedUp(t *testing.T) (url, path string) {
	t.Helper()
	url, path = sqliteURL(t)
	d, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	addOrganization(t, d, "one")
	if err := errors.Join(backup.Make(t.Context(), url, path+".copy"), d.Close()); err != nil {
		t.Fatal(err)
	}
	return url, path
}

func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	url, path := sqliteURL(t)
	d := dbtest.Open(t, url)
	started := make(chan struct{})
	var enough atomic.Bool
	var writers sync.WaitGroup
	defer writers.Wait()
	defer enough.Store(true)
	for i := range 4 {
		writers.Go(func() {
			for n := 0; !enough.Load(); n++ {
				addOrganization(t, d, strings.Repeat("w", i+1)+strings.Repeat("n", n))
				if i == 0 && n == 3 {
					close(started)
				}
			}
		})
	}
	<-started
	copies := []string{path + ".1", path + ".2", path + ".3"}
	for _, copied := range copies {
		if err := backup.Make(t.Context(), url, copied); err != nil {
			t.Fatal(err)
		}
	}
	enough.Store(true)
	writers.Wait()
	last := 0
	for _, copied := range copies {
		rows, counted := organizations(t, dbtest.Open(t, "sqlite:"+copied))
		if rows != counted || rows < last || rows < 4 {
			t.Errorf("%s: %d organizations, %d counted, %d in the copy before", copied, rows, counted, last)
		}
		last = rows
		if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
		}
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	url, path := sqliteURL(t)
	copied := path + ".copy"
	d, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	addOrganization(t, d, "before")
	if err := backup.Make(t.Context(), url, copied); err != nil {
		t.Fatal(err)
	}
	addOrganization(t, d, "after")

	if err := backup.Restore(t.Context(), copied, url, false, asItWas); !errors.Is(err, fs.ErrExist) {
		t.Errorf("without replace: %v; want ErrExists", err)
	}
	if err := backup.Restore(t.Context(), copied, url, true, asItWas); !errors.Is(err, backup.ErrInUse) {
		t.Errorf("while it is open: %v; want ErrInUse", err)
	}
	if rows, _ := organizations(t, d); rows != 2 {
		t.Errorf("%d organizations after refused restores; want 2", rows)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	renamed := func(ctx context.Context, tx *db.Tx) error {
		return db.Exec(ctx, tx, `UPDATE organizations SET name = 'Restored'`)
	}
	if err := backup.Restore(t.Context(), copied, url, true, renamed); err != nil {
		t.Fatal(err)
	}
	restored := dbtest.Open(t, url)
	if rows, counted := organizations(t, restored); rows != 1 || counted != 1 {
		t.Errorf("%d organizations, %d counted; want those of the backup", rows, counted)
	}
	if name, err := db.One[string](t.Context(), restored, nil, `SELECT name FROM organizations`); name != "Restored" {
		t.Errorf("the organization is %q, %v; want it as it was prepared", name, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// A program that reads a backup may leave an empty journal beside it, which does no harm.
func TestRestoreWhereNothingIs(t *testing.T) {
	t.Parallel()
	_, path := backedUp(t)
	if err := os.WriteFile(path+".copy-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := "sqlite:" + filepath.Join(t.TempDir(), "new", "foyer.db")
	if err := backup.Restore(t.Context(), path+".copy", fresh, false, asItWas); err != nil {
		t.Fatal(err)
	}
	if rows, _ := organizations(t, dbtest.Open(t, fresh)); rows != 1 {
		t.Errorf("%d organizations; want 1", rows)
	}
}

// Restore through a link replaces the file that the link leads to, on that file's disk.
func TestRestoreThroughLink(t *testing.T) {
	t.Parallel()
	url, path := backedUp(t)
	if err := os.Symlink(path, path+".link"); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(path)
	if err := backup.Restore(t.Context(), path+".copy", url+".link", true, asItWas); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Readlink(path + ".link"); err != nil || at != path {
		t.Errorf("the link leads to %q, %v", at, err)
	}
	if after, err := os.Stat(path); err != nil || os.SameFile(before, after) {
		t.Errorf("the file is not replaced: %v", err)
	}
}

// Restore creates a missing file where the links lead, and does not ask for --force.
func TestRestoreWhereLinksLead(t *testing.T) {
	t.Parallel()
	_, path := backedUp(t)
	big, small := filepath.Join(t.TempDir(), "big"), filepath.Join(t.TempDir(), "small")
	up, err := filepath.Rel(small, big)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.Mkdir(big, 0o700), os.Mkdir(small, 0o700), os.Symlink(small, path+".folder"),
		os.Symlink("2.db", filepath.Join(small, "1.db")), os.Symlink(filepath.Join(up, "foyer.db"), filepath.Join(small, "2.db")),
		os.Symlink("circle.db", filepath.Join(small, "circle.db")),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.Restore(t.Context(), path+".copy", "sqlite:"+path+".folder/1.db", false, asItWas); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(filepath.Join(big, "foyer.db")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the database is elsewhere: %v", err)
	}
	if at, err := os.Readlink(filepath.Join(small, "1.db")); at != "2.db" {
		t.Errorf("the link leads to %q, %v", at, err)
	}
	if err := backup.Restore(t.Context(), path+".copy", "sqlite:"+path+".folder/circle.db", true, asItWas); err == nil {
		t.Error("links in a circle lead somewhere")
	}
}

// Restore replaces a damaged database, and removes its log, which SQLite would otherwise play into the new one.
func TestRestoreOverDamage(t *testing.T) {
	t.Parallel()
	url, path := backedUp(t)
	addOrganization(t, dbtest.Open(t, url), "after") // in the log until the database is closed
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "foyer.db")
	for name, text := range map[string][]byte{"": []byte("damaged"), "-wal": log, "-shm": []byte("damaged")} {
		if err := os.WriteFile(damaged+name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := backup.Restore(t.Context(), path+".copy", "sqlite:"+damaged, true, asItWas); err != nil {
		t.Fatal(err)
	}
	if rows, counted := organizations(t, dbtest.Open(t, "sqlite:"+damaged)); rows != 1 || counted != 1 {
		t.Errorf("%d organizations, %d counted; want those of the backup", rows, counted)
	}
}

// A database that cannot be opened may still be in use.
func TestRestoreOverWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	url, path := backedUp(t)
	if err := os.Mkdir(path+"-wal", 0o700); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.Restore(t.Context(), path+".copy", url, true, asItWas); err == nil {
		t.Error("restored")
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another file now, %v", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	url, newer := "sqlite:"+filepath.Join(dir, "source.db"), filepath.Join(dir, "newer.db")
	d := dbtest.Open(t, url)
	if err := backup.Make(t.Context(), url, newer+".before"); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(newer + ".before")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, d, `INSERT INTO migrations (name) VALUES ('9999_later.sql')`)
	if err := backup.Make(t.Context(), url, newer); err != nil {
		t.Fatal(err)
	}
	for _, replace := range []bool{false, true} { // checked before the file's existence and use
		if err := backup.Restore(t.Context(), newer, url, replace, asItWas); err == nil || !strings.Contains(err.Error(), "made by a newer foyer") {
			t.Errorf("newer, replace %t: %v", replace, err)
		}
	}
	damaged := slices.Clone(sound)
	copy(damaged[len(damaged)-4096:], "no page of SQLite")
	inUse := write("used.db", string(sound))
	write("used.db-wal", "what was written last")
	tests := map[string]struct {
		from string
		want error
	}{
		"no file":        {filepath.Join(dir, "none"), fs.ErrNotExist},
		"no database":    {write("text", strings.Repeat("hello ", 1000)), backup.ErrNoBackup},
		"empty":          {write("empty", ""), backup.ErrNoBackup},
		"cut short":      {write("short", string(sound[:len(sound)/2])), backup.ErrNoBackup},
		"damaged":        {write("damaged", string(damaged)), backup.ErrNoBackup},
		"a database":     {filepath.Join(dir, "source.db"), backup.ErrNoBackup},
		"newer":          {newer, nil},
		"with a journal": {inUse, backup.ErrNoBackup},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := filepath.Join(t.TempDir(), "foyer.db")
			err := backup.Restore(context.Background(), test.from, "sqlite:"+target, false, asItWas)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error %v; want %v", err, test.want)
			}
			if name == "newer" && !strings.Contains(err.Error(), "made by a newer foyer") {
				t.Errorf("error %v; want one that says so", err)
			}
			left, err := filepath.Glob(target + "*")
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Restore finds damage that SQLite itself overlooks: missing or wrong last bytes.
func TestRestoreRefusesEachDamage(t *testing.T) {
	t.Parallel()
	url, path := backedUp(t)
	sound, err := os.ReadFile(path + ".copy")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at int, content []byte) {
		from := filepath.Join(t.TempDir(), "damaged")
		if err := os.WriteFile(from, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := backup.Restore(t.Context(), from, url, true, asItWas); !errors.Is(err, backup.ErrNoBackup) {
			t.Errorf("%s %d: %v; want ErrNoBackup", what, at, err)
		}
	}
	for missing := range 100 {
		refused("bytes cut off:", missing+1, sound[:len(sound)-missing-1])
	}
	for at := 0; at < len(sound); at += 1 + len(sound)/200 {
		damaged := slices.Clone(sound)
		damaged[at] ^= 4
		refused("another byte at", at, damaged)
	}
	refused("bytes added:", 1, append(slices.Clone(sound), '\n'))
}

// Restore refuses a file with a matching digest that is not a sound database of foyer.
func TestRestoreRefusesOtherContent(t *testing.T) {
	t.Parallel()
	const mark, made = `CREATE TABLE migrations (name TEXT)`, `INSERT INTO migrations (name) VALUES ('any')`
	for name, test := range map[string]struct {
		statements []string
		want       string
	}{
		"no tables":               {[]string{`PRAGMA user_version = 1`}, backup.ErrNoBackup.Error()},
		"another program's":       {[]string{`CREATE TABLE orders (id INTEGER)`}, backup.ErrNoBackup.Error()},
		"no migrations":           {[]string{mark}, backup.ErrNoBackup.Error()},
		"a row that cannot exist": {[]string{mark, made, `CREATE TABLE t (n INTEGER CHECK (n > 0))`, `PRAGMA ignore_check_constraints = ON`, `INSERT INTO t (n) VALUES (0)`}, "the backup is of a damaged database: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, path := sqliteURL(t)
			c, err := sqlite.Open(path + ".copy")
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range test.statements {
				if err := c.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(c.Close(), backup.AddDigest(t.Context(), path+".copy")); err != nil {
				t.Fatal(err)
			}
			if err := backup.Restore(t.Context(), path+".copy", url, false, asItWas); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// A backup or restore removes the files that killed ones left behind.
func TestPartialFilesAreRemoved(t *testing.T) {
	t.Parallel()
	url, path := sqliteURL(t)
	d, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(path), "[copy]")
	left := []string{copied + ".1.partial", copied + ".1.partial-journal", path + ".2.partial", path + ".2.partial-wal", path + ".2.partial-shm"}
	for _, name := range append(left, copied+".kept") {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(backup.Make(t.Context(), url, copied), d.Close(), backup.Restore(t.Context(), copied, url, true, asItWas)); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v; want ErrNotExist", name, err)
		}
	}
	if _, err := os.Stat(copied + ".kept"); err != nil {
		t.Error(err)
	}
}

// Each backup removes the files of the others to the same place, and their errors say so, not that the disk is broken.
func TestBackupsAtOnce(t *testing.T) {
	t.Parallel()
	url, path := sqliteURL(t)
	dbtest.Open(t, url)
	for i := range 10 {
		to := fmt.Sprintf("%s.%d", path, i)
		var backups sync.WaitGroup
		for range 4 {
			backups.Go(func() {
				err := backup.Make(t.Context(), url, to)
				if err != nil && !errors.Is(err, backup.ErrOvertaken) && !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		backups.Wait()
		if _, err := os.Stat(to); err != nil {
			t.Error(err)
		}
	}
}

// Each restore removes the files of the others. Whichever succeeds, the database is never empty.
func TestRestoresAtOnce(t *testing.T) {
	t.Parallel()
	url, path := backedUp(t)
	for range 10 {
		var restores sync.WaitGroup
		for range 4 {
			restores.Go(func() {
				err := backup.Restore(t.Context(), path+".copy", url, true, asItWas)
				if err != nil && !errors.Is(err, backup.ErrOvertaken) && !errors.Is(err, backup.ErrInUse) {
					t.Error(err)
				}
			})
		}
		restores.Wait()
		d, err := db.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := organizations(t, d); rows != 1 {
			t.Fatalf("%d organizations; want that of the backup", rows)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	url, path := sqliteURL(t)
	dbtest.Open(t, url)
	if err := backup.Make(t.Context(), url, path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto itself: %v; want ErrExists", err)
	}
	if err := backup.Make(t.Context(), "sqlite:"+path+".none", path+".copy"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a database: %v; want fs.ErrNotExist", err)
	}
	empty := filepath.Join(t.TempDir(), "foyer.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := backup.Make(t.Context(), "sqlite:"+empty, path+".copy"); !errors.Is(err, backup.ErrEmpty) || !strings.HasPrefix(err.Error(), empty+": ") {
		t.Errorf("of an empty file: %v; want ErrEmpty", err)
	}
	nowhere := filepath.Join(path+".folder", "x.db")
	if err := backup.Make(t.Context(), url, nowhere); err == nil || err.Error() != nowhere+": no such file or directory" {
		t.Errorf("without a folder: %v; want an error that names %s alone", err, nowhere)
	}
	for _, do := range []func() error{
		func() error { return backup.Make(t.Context(), "postgres://localhost/foyer", path+".copy") },
		func() error { return backup.Restore(t.Context(), path, "postgres://localhost/foyer", true, asItWas) },
	} {
		if err := do(); !errors.Is(err, backup.ErrNotSQLite) {
			t.Errorf("PostgreSQL: %v; want ErrNotSQLite", err)
		}
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// An interrupted backup leaves no copy, and an interrupted restore keeps the database.
func TestInterruptedBackup(t *testing.T) {
	t.Parallel()
	url, path := backedUp(t)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	if err := backup.Make(interrupted, url, path+".later"); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup: %v", err)
	}
	if err := backup.Restore(interrupted, path+".copy", url, true, asItWas); !errors.Is(err, context.Canceled) || errors.Is(err, backup.ErrNoBackup) {
		t.Errorf("a restore: %v", err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || !slices.Equal(left, []string{path + ".copy"}) {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A backup to a full disk leaves nothing behind, and its error names the target. Not parallel: the limit applies to the
// whole process.
func TestBackupWithoutRoom(t *testing.T) {
	url, path := sqliteURL(t)
	d := dbtest.Open(t, url)
	for i := range 300 {
		addOrganization(t, d, strings.Repeat("long", 1000+i))
	}
	to := filepath.Join(t.TempDir(), "copy")
	err := dbtest.WithinFileSize(t, 512<<10, func() error { return backup.Make(t.Context(), url, to) })
	if err == nil || !strings.HasPrefix(err.Error(), "copy to "+to+": ") || strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want one that names %s", err, to)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// On a full disk, a start and a backup report that, and not a broken disk. Not parallel: the limit applies to the whole
// process.
func TestOpenWithoutRoom(t *testing.T) {
	url, path := sqliteURL(t)
	d, err := db.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	want := path + ": the disk is full: there is no room for " + filepath.Base(path) + "-shm: "
	for name, open := range map[string]func() error{
		"a start":  func() error { _, err := db.Open(t.Context(), url); return err },
		"a backup": func() error { return backup.Make(t.Context(), url, path+".copy") },
	} {
		for _, size := range []uint64{0, 4096} {
			if err := dbtest.WithinFileSize(t, size, open); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s with %d bytes: %v, want %s", name, size, err, want)
			}
		}
	}
}

func asItWas(context.Context, *db.Tx) error { return nil }
