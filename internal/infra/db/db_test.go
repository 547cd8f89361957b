package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/base/panics"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/queries"
)

const makeUser = `
	INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at)
	VALUES ($1, $1, $1, '', '', $2, $3)`

func TestValuesComeBackAsTheyWent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		type row struct {
			verified bool
			at       time.Time
			same     time.Time
			none     time.Time
			text     string
			id       int64
		}
		at := time.Date(2026, 11, 20, 12, 30, 0, 123456000, time.UTC)
		fields := func(r *row) []any {
			return []any{&r.verified, &r.at, db.Null(&r.same), db.Null(&r.none), db.Null(&r.text), db.Null(&r.id)}
		}
		const columns = `is_email_verified, created_at, created_at, CAST(NULL AS {{timestamp}}), CAST(NULL AS TEXT), CAST(NULL AS BIGINT)`
		columnsHere := strings.ReplaceAll(columns, "{{timestamp}}", "TIMESTAMP")
		want := row{verified: true, at: at}
		var returned row
		if err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
			returned, err = db.One(t.Context(), tx, fields, makeUser+` RETURNING `+columnsHere, "a", true, at)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		read, err := db.One(t.Context(), d, fields, `SELECT `+columnsHere+` FROM users`)
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]row{"RETURNING": returned, "SELECT": read} {
			if got.verified != want.verified || got.at != at || got.same != at || !got.none.IsZero() || got.text != "" || got.id != 0 {
				t.Errorf("%s: got %+v, want %+v", what, got, want)
			}
		}
	})
}

// In every time zone, times are returned in UTC.
func TestTimesOfAnotherZone(t *testing.T) {
	t.Parallel()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestValuesComeBackAsTheyWent$")
	again.Env = append(os.Environ(), "TZ=America/New_York")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A list is read from JSON, and only from JSON.
func TestListsAreJSON(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, `CREATE TABLE lists (list JSON NOT NULL, text TEXT NOT NULL)`)
		dbtest.Exec(t, d, `INSERT INTO lists (list, text) VALUES ('["a","b"]', 'a,b')`)
		list, err := db.One[[]string](t.Context(), d, nil, `SELECT list FROM lists`)
		if err != nil || !slices.Equal(list, []string{"a", "b"}) {
			t.Errorf("got %q, %v", list, err)
		}
		if list, err := db.One[[]string](t.Context(), d, nil, `SELECT text FROM lists`); err == nil {
			t.Errorf("a text is read as %q", list)
		}
	})
}

func wantUsers(t *testing.T, d *db.DB, want int) {
	t.Helper()
	if n, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users`); err != nil || n != want {
		t.Errorf("%d users, want %d; %v", n, want, err)
	}
}

func TestInTxRollsBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		refused := errors.New("refused")
		for name, fn := range map[string]func() error{
			"error": func() error { return refused },
			"panic": func() error { panic("oops") },
		} {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if err := db.Exec(t.Context(), tx, makeUser, name, false, d.Now()); err != nil {
					return err
				}
				return fn()
			})
			if _, panicked := errors.AsType[panics.Error](err); err == nil || panicked != (name == "panic") {
				t.Errorf("%s: %v", name, err)
			}
		}
		wantUsers(t, d, 0)
	})
}

func TestNoRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if _, err := db.One[int](t.Context(), d, nil, `SELECT 1 FROM users WHERE email = $1`, "b"); !errors.Is(err, db.ErrNoRow) {
			t.Errorf("got %v, want ErrNoRow", err)
		}
	})
}

// atOnce runs 200 transactions at the same time. Every third one fails after its fn.
func atOnce(t *testing.T, d *db.DB, fn func(tx *db.Tx, i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if err := fn(tx, i); err != nil {
					return err
				}
				if i%3 == 0 {
					return errors.New("refused")
				}
				return nil
			})
			if (err != nil) != (i%3 == 0) {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// Transactions that share a commit must not share a failure.
func TestTransactionsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		atOnce(t, d, func(tx *db.Tx, i int) error {
			return db.Exec(t.Context(), tx, makeUser, strconv.Itoa(i), false, d.Now())
		})
		wantUsers(t, d, 133)
	})
}

// Additions to a row must sum up correctly, whoever else adds to it at the same time, and without those of failed
// transactions, whether or not others are rolled back with them.
func TestAdd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const add = `INSERT INTO invite_counts (organization_id, shard, pending, version) VALUES ($1, 0, $2, $3)
			ON CONFLICT (organization_id, shard) DO UPDATE SET pending = invite_counts.pending + $2, version = invite_counts.version + $3`
		want := map[string][2]int64{}
		for _, writes := range []bool{false, true} {
			atOnce(t, d, func(tx *db.Tx, i int) error {
				for _, row := range []string{"even", "odd"}[i%2:] {
					db.Add(tx, add, []any{row}, int64(i), 1)
				}
				if !writes || i%5 != 0 {
					return nil
				}
				return db.Exec(t.Context(), tx, makeUser, strconv.Itoa(i), false, d.Now())
			})
			for i := range int64(200) {
				for _, row := range []string{"even", "odd"}[i%2:] {
					if i%3 != 0 {
						want[row] = [2]int64{want[row][0] + i, want[row][1] + 1}
					}
				}
			}
			for row, n := range want {
				got, err := db.One(t.Context(), d, func(v *[2]int64) []any { return []any{&v[0], &v[1]} },
					`SELECT pending, version FROM invite_counts WHERE organization_id = $1`, row)
				if err != nil || got != n {
					t.Errorf("%s: got %v, %v; want %v", row, got, err, n)
				}
			}
		}
	})
}

// On a full disk SQLite itself rolls back a whole transaction. Transactions that share its commit must be on disk if, and
// only if, their callers got no error.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "full.db"))
	const add = `INSERT INTO invite_counts (organization_id, shard, pending, version) VALUES ($1, 0, $2, 0)
		ON CONFLICT (organization_id, shard) DO UPDATE SET pending = invite_counts.pending + $2`
	dbtest.Exec(t, d, `CREATE TABLE notes (name TEXT NOT NULL, item TEXT NOT NULL)`)
	pages, err := db.One[int](t.Context(), d, nil, `PRAGMA page_count`)
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, d, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+40))
	var done, failed atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 10 {
				name := fmt.Sprintf("%d.%d.%s", i, j, strings.Repeat("x", 100+2000*(i%3)))
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					db.Add(tx, add, []any{"x"}, 1)
					if err := db.Exec(ctx, tx, `INSERT INTO notes (name, item) VALUES ($1, $2)`, name, strings.Repeat("x", 1000*(j%3))); err != nil {
						return err
					}
					err := db.Exec(t.Context(), tx, makeUser, name, false, d.Now())
					if i%7 == 0 {
						return errors.Join(err, errors.New("refused"))
					}
					return err
				})
				if err != nil {
					failed.Add(1)
				} else {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	dbtest.Exec(t, d, `PRAGMA max_page_count = 1000000`)
	users, err := db.One[int64](t.Context(), d, nil, `SELECT COUNT(*) FROM users`)
	counted, countErr := db.One[int64](t.Context(), d, nil, `SELECT pending FROM invite_counts`)
	noted, noteErr := db.One[int64](t.Context(), d, nil, `SELECT COUNT(*) FROM notes n JOIN users u ON u.email = n.name`)
	if err := errors.Join(err, countErr, noteErr); err != nil || users != done.Load() || counted != users || noted != users {
		t.Errorf("%d were told that they are on disk, %d are, %d are counted, %d noted; %v", done.Load(), users, counted, noted, err)
	}
	if failed.Load() < 64/7*10+10 || done.Load() == 0 {
		t.Errorf("%d failed, %d did not: the disk was not full", failed.Load(), done.Load())
	}
}

// An error that is found only at the commit is returned too.
func TestTransactionThatCannotCommit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, `CREATE TABLE late (id INTEGER REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED)`)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(t.Context(), tx, `INSERT INTO late (id) VALUES (404)`)
		})
		if err == nil {
			t.Error("told that it is on disk")
		}
		dbtest.Exec(t, d, makeUser, "a", false, d.Now()) // others still succeed
	})
}

// So is the error if it could not begin because another connection held the lock for too long.
func TestTransactionThatCannotBegin(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "foyer.db")
	d, other := dbtest.Open(t, url), dbtest.Open(t, url)
	dbtest.Exec(t, d, `PRAGMA busy_timeout = 1`)
	err := other.InTx(t.Context(), func(context.Context, *db.Tx) error {
		return d.InTx(t.Context(), func(context.Context, *db.Tx) error { return nil })
	})
	if err == nil {
		t.Error("told that it is on disk")
	}
	dbtest.Exec(t, d, makeUser, "a", false, d.Now())
}

// A transaction inside a transaction, or a query beside it, would wait for ever.
func TestInsideATransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		attempts := func(ctx context.Context) {
			_, queried := db.One[int](ctx, d, nil, `SELECT 1`)
			for what, err := range map[string]error{
				"InTx":  d.InTx(ctx, func(context.Context, *db.Tx) error { return nil }),
				"View":  d.View(ctx, func(context.Context, db.Querier) error { return nil }),
				"query": queried,
			} {
				if !errors.Is(err, db.ErrInside) {
					t.Errorf("%s: %v; want ErrInside", what, err)
				}
			}
		}
		err := errors.Join(
			d.InTx(t.Context(), func(ctx context.Context, _ *db.Tx) error {
				attempts(ctx)
				return nil
			}),
			d.View(t.Context(), func(ctx context.Context, _ db.Querier) error {
				attempts(ctx)
				return nil
			}))
		if err != nil {
			t.Error(err)
		}
		count := func(ctx context.Context, _ db.Querier) (int, error) {
			attempts(ctx)
			return 1, nil
		}
		list := func(ctx context.Context, _ db.Querier) ([]int, error) {
			attempts(ctx)
			return []int{1}, nil
		}
		if found, err := queries.Page(t.Context(), d, page.First, count, list); err != nil || len(found.Items) != 1 {
			t.Error(found, err)
		}
	})
}

// A long read ends with its caller's context, and so does its transaction; its connection remains usable.
func TestLongReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const endless = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n`
		count := func(ctx context.Context, q db.Querier) error {
			_, err := db.One[int](ctx, q, nil, endless)
			return err
		}
		for what, read := range map[string]func(context.Context) error{
			"query": func(ctx context.Context) error { return count(ctx, d) },
			"view": func(ctx context.Context) error {
				return d.View(ctx, func(ctx context.Context, q db.Querier) error { return count(ctx, q) })
			},
			"transaction": func(ctx context.Context) error {
				return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return count(ctx, tx) })
			},
		} {
			for range 2 * 20 { // more often than there are connections
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				if err := read(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v; want context.DeadlineExceeded", what, err)
				}
				cancel()
			}
		}
		if n, err := db.One[int](t.Context(), d, nil, `SELECT 1`); err != nil || n != 1 {
			t.Errorf("afterwards: %d, %v", n, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
			if err := db.Exec(ctx, tx, makeUser, "a", false, d.Now()); err != nil {
				return err
			}
			cancel()
			_ = count(ctx, tx)
			return nil
		})
		if n, again := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users`); err == nil || again != nil || n != 0 {
			t.Errorf("a transaction went on after a read that was ended: %v, %d users, %v", err, n, again)
		}
	})
}

// A transaction keeps nothing if one of its statements came too late for its own context.
func TestStatementThatIsTooLate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := db.Changed(ctx, tx, makeUser, "a", false, d.Now()); err != nil {
				return err
			}
			if err := db.Exec(ctx, tx, makeUser, "b", false, d.Now()); err != nil { // on PostgreSQL it is sent with the next
				return err
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := db.One[int](ended, tx, nil, `SELECT 1`); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			return nil
		})
		if err == nil {
			t.Error("the commit went through")
		}
		wantUsers(t, d, 0)
	})
}

// A context that ends after its query does not end later statements on the same connection.
func TestContextOfAnEarlierQuery(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, `CREATE TABLE numbers (i INTEGER)`)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			early, cancel := context.WithCancel(ctx)
			_, err := db.One[int](early, tx, nil, `SELECT 1`)
			cancel()
			return errors.Join(err, db.Exec(ctx, tx, `
				INSERT INTO numbers (i) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i FROM n`))
		})
		if n, counted := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM numbers`); errors.Join(err, counted) != nil || n != 10000 {
			t.Errorf("%d rows, %v, %v", n, err, counted)
		}
	})
}

func TestReadsAreReadOnly(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	if _, err := db.One[int](t.Context(), d, nil, makeUser+` RETURNING id`, "a", false, d.Now()); err == nil {
		t.Error("a write outside a transaction went through")
	}
}

func TestClosedDatabaseRefuses(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		d, err := db.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		wantUsers(t, d, 0)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if one, inTx := ask(t.Context(), d); one == nil || inTx == nil {
			t.Errorf("a query on a closed database: %v, and a transaction: %v", one, inTx)
		}
	})
}

// Servers may open an empty database at the same time.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	for engine, url := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "foyer.db"), "postgres": dbtest.Empty(t)} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					d, err := db.Open(t.Context(), url)
					if err != nil {
						t.Error(err)
						return
					}
					if err := d.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// A database of a later foyer, or from before the first release, is left unchanged.
func TestOpenRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change, words string
		want          error
	}{
		{`INSERT INTO migrations (name) VALUES ('9999_tomorrow.sql')`, "9999_tomorrow.sql", db.ErrNewer},
		{`UPDATE migrations SET name = '0100_schema.sql' WHERE name = (SELECT MIN(name) FROM migrations)`, "start with an empty database", db.ErrOlder},
		{`UPDATE migrations SET name = 'CreateUsers1620000000000'`, "a database of its own", db.ErrForeign},
	} {
		dbtest.EachURL(t, func(t *testing.T, url string) {
			d, err := db.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			dbtest.Exec(t, d, c.change)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err = db.Open(t.Context(), url); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %v, with %q", err, c.want, c.words)
			}
		})
	}
}

func TestCanceledContext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 { // a select picks any of the channels that are ready
			if err := d.InTx(ctx, func(context.Context, *db.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("InTx: got %v, want context.Canceled", err)
			}
			if _, err := db.One[int](ctx, d, nil, `SELECT 1`); !errors.Is(err, context.Canceled) {
				t.Errorf("One: got %v, want context.Canceled", err)
			}
		}
	})
}

// A transaction with a failed statement is rolled back on both engines, whether its function handles the error or not.
// The error comes with the next result or the commit.
func TestStatementThatFails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, makeUser, "a", false, d.Now())
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(t.Context(), tx, makeUser, "a", false, d.Now())
		})
		if !errors.Is(err, db.ErrUnique) {
			t.Errorf("put off: got %v, want ErrUnique", err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := db.Exec(ctx, tx, makeUser, "a", false, d.Now()); err != nil {
				t.Errorf("at once: %v", err)
			}
			_, err := db.One[int](ctx, tx, nil, `SELECT 1`)
			return err
		})
		if !errors.Is(err, db.ErrUnique) {
			t.Errorf("with the next result: got %v, want ErrUnique", err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := db.Exec(t.Context(), tx, makeUser, "b", false, d.Now()); err != nil {
				return err
			}
			_ = db.Exec(t.Context(), tx, makeUser, "a", false, d.Now())
			return nil
		})
		n, counted := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users WHERE email = 'b'`)
		if counted != nil || !errors.Is(err, db.ErrUnique) || n != 0 {
			t.Errorf("ignored: %v, and %d users", err, n)
		}
		for _, query := range []string{`SELECT abs(-9223372036854775807 - 1)`, `SELECT nonsense`} { // the first is an overflow
			err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if err := db.Exec(t.Context(), tx, makeUser, "b", false, d.Now()); err != nil {
					return err
				}
				_, _ = db.One[int](ctx, tx, nil, query)
				if _, err := db.Changed(ctx, tx, makeUser, "c", false, d.Now()); err == nil {
					t.Errorf("%s ignored: the next statement went through", query)
				}
				return nil
			})
			n, counted = db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM users WHERE email <> 'a'`)
			if counted != nil || err == nil || n != 0 {
				t.Errorf("%s ignored: %v, and %d users", query, err, n)
			}
			if err := d.Ready(t.Context()); err != nil { // the error says nothing about the database
				t.Errorf("%s ignored: not ready: %v", query, err)
			}
		}
	})
}

// An INSERT that makes no row has no id, least of all that of another row.
func TestInsertOfNoRow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dbtest.Exec(t, d, makeUser, "a", false, d.Now())
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			id, err := db.Insert(ctx, tx, makeUser+` ON CONFLICT DO NOTHING`, "a", false, d.Now())
			if !errors.Is(err, db.ErrNoRow) || id != 0 {
				t.Errorf("got %d, %v; want ErrNoRow", id, err)
			}
			id, err = db.Insert(ctx, tx, makeUser, "b", false, d.Now())
			if err != nil || id == 0 {
				t.Errorf("afterwards: %d, %v", id, err)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := db.Insert(ctx, tx, makeUser, "a", false, d.Now())
			return err
		})
		if !errors.Is(err, db.ErrUnique) {
			t.Errorf("got %v, want ErrUnique", err)
		}
	})
}
