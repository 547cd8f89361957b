package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
)

const addPending = `INSERT INTO invite_counts (organization_id, part, pending, version) VALUES ($1, $2, $3, 1)
	ON CONFLICT (organization_id, part) DO UPDATE SET pending = invite_counts.pending + $3`

// Transactions that travel together keep apart: what one of them makes is its own, and
// the failure of one is nobody else's.
func TestBlindTransactionsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, makeNotes)
		var made atomic.Int64
		var wg sync.WaitGroup
		for i := range 200 {
			name := strconv.Itoa(i)
			if i%10 == 0 {
				name = "twin"
			}
			wg.Go(func() {
				var id int64
				err := d.InBlindTx(t.Context(), func(tx *db.Tx) error {
					if err := db.InsertLater(t.Context(), tx, &id, makeUser, name, false, d.Now()); err != nil {
						return err
					}
					if err := db.Add(t.Context(), tx, addPending, []any{"x", tx.Part}, 1); err != nil {
						return err
					}
					if err := db.Run(t.Context(), tx, `UPDATE users SET first_name = $1 WHERE email = $2`, name+"'s", name); err != nil {
						return err
					}
					return notes.Append(t.Context(), tx, name, db.InsertedID("users"))
				})
				if err != nil {
					if name != "twin" || !errors.Is(err, db.ErrUnique) {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
				made.Add(1)
				got, err := db.One(t.Context(), d, db.Value[string], `
					SELECT u.email || ' ' || u.first_name || ' ' || n.name FROM users u JOIN notes n ON n.item = CAST(u.id AS TEXT) WHERE u.id = $1`, id)
				if want := name + " " + name + "'s " + name; err != nil || got != want {
					t.Errorf("user %d is %s, %v; want %s", id, got, err, want)
				}
			})
		}
		wg.Wait()
		counted, err := db.One(t.Context(), d, db.Value[int64], `SELECT SUM(pending) FROM invite_counts`)
		if err != nil || counted != 181 || made.Load() != 181 {
			t.Errorf("%d are counted, %d were told, want 181; %v", counted, made.Load(), err)
		}
	})
}

func TestBlindTransactionThatIsRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		refused := errors.New("refused")
		err := d.InBlindTx(t.Context(), func(tx *db.Tx) error {
			return errors.Join(db.Run(t.Context(), tx, makeUser, "a", false, d.Now()), refused)
		})
		if !errors.Is(err, refused) {
			t.Errorf("got %v, want refused", err)
		}
		wantUsers(t, d, 0)
	})
}

// There is no answer before the trip, and a lock would have others wait.
func TestBlindTransactionThatAsks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		for name, ask := range map[string]func(tx *db.Tx) error{
			"One":      func(tx *db.Tx) error { _, err := db.One(ctx, tx, db.Value[int], `SELECT 1`); return err },
			"Quick":    func(tx *db.Tx) error { _, err := db.One(ctx, db.Quick(tx), db.Value[int], `SELECT 1`); return err },
			"Ask":      func(tx *db.Tx) error { _, err := db.Ask(ctx, tx, db.Value[int], `SELECT 1`)(); return err },
			"Exec":     func(tx *db.Tx) error { _, err := db.Exec(ctx, tx, makeUser, "a", false, d.Now()); return err },
			"Insert":   func(tx *db.Tx) error { _, err := db.Insert(ctx, tx, makeUser, "a", false, d.Now()); return err },
			"Lock":     func(tx *db.Tx) error { return db.Lock(ctx, tx, "a") },
			"LockRows": func(tx *db.Tx) error { return db.LockRows(ctx, tx, `SELECT 1 FROM users`) },
		} {
			if err := d.InBlindTx(ctx, ask); err == nil {
				t.Errorf("%s went through", name)
			}
		}
	})
}

// What is large goes by itself.
func TestLargeBlindTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, size := range []int{30_000, 40_000} {
			var id int64
			large, part := strings.Repeat("x", size), 0
			if err := d.InBlindTx(t.Context(), func(tx *db.Tx) error {
				part = tx.Part
				return db.InsertLater(t.Context(), tx, &id, makeUser, large, false, d.Now())
			}); err != nil {
				t.Fatal(err)
			}
			if shared := part == 20; shared && size > 32<<10 {
				t.Errorf("%d bytes went in a shared trip", size)
			}
			n, err := db.One(t.Context(), d, db.Value[int], `SELECT LENGTH(email) FROM users WHERE id = $1`, id)
			if err != nil || n != size {
				t.Errorf("%d bytes, want %d; %v", n, size, err)
			}
		}
	})
}

// A server that has once been sent much must not keep it all.
func TestNothingIsKeptOfTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		exec(t, d, makeNotes)
		var kept [65]weak.Pointer[byte]
		send := func(i int) {
			text := new(strings.Repeat("x", 10_000))
			kept[i] = weak.Make(unsafe.StringData(*text))
			refused := errors.New("refused")
			err := d.InBlindTx(t.Context(), func(tx *db.Tx) error {
				if err := notes.Append(t.Context(), tx, "x", *text); err != nil {
					return err
				}
				if i%4 == 0 {
					return refused
				}
				return db.Run(t.Context(), tx, `UPDATE users SET first_name = $1 WHERE id = $2`, db.Text(text), 0)
			})
			if err != nil && !errors.Is(err, refused) {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for i := range len(kept) - 1 {
			wg.Go(func() { send(i) })
		}
		wg.Wait()
		send(len(kept) - 1) // the last to come is refused
		if err := d.InBlindTx(t.Context(), func(tx *db.Tx) error { return db.Run(t.Context(), tx, `DELETE FROM users WHERE id = 0`) }); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		for _, p := range kept {
			if p.Value() != nil {
				t.Fatal("what a transaction was about is still in memory")
			}
		}
	})
}

// What PostgreSQL finds wrong only when it commits is an error, too.
func TestBlindTransactionThatCannotCommit(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	exec(t, d, `ALTER TABLE users ADD CONSTRAINT late UNIQUE (last_name) DEFERRABLE INITIALLY DEFERRED`)
	exec(t, d, makeUser, "a", false, d.Now())
	err := d.InBlindTx(t.Context(), func(tx *db.Tx) error {
		return db.Run(t.Context(), tx, makeUser, "b", false, d.Now())
	})
	if !errors.Is(err, db.ErrUnique) {
		t.Errorf("got %v, want ErrUnique", err)
	}
}

// Only what surely has not been done may be done again.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{pgx.ErrPreprocessingBatch{}, true},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR"}, true},
		{&pgconn.PgError{SeverityUnlocalized: "FATAL"}, false},
		{io.EOF, false},
	} {
		if got := db.Refused(c.err); got != c.want {
			t.Errorf("%#v: %t, want %t", c.err, got, c.want)
		}
	}
}

// Two servers that count in the same rows do so in the same order.
func TestServersAddAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		servers := []*db.DB{dbtest.Open(t, url), dbtest.Open(t, url)}
		orders := [][]string{{"a", "b", "c"}, {"c", "b", "a"}}
		const times = 500
		var wg sync.WaitGroup
		for i, d := range servers {
			wg.Go(func() {
				for range times {
					if err := d.InBlindTx(t.Context(), func(tx *db.Tx) (err error) {
						for _, row := range orders[i] {
							err = errors.Join(err, db.Add(t.Context(), tx, addPending, []any{row, tx.Part}, 1))
						}
						return err
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		counted, err := db.One(t.Context(), servers[0], db.Value[int64], `SELECT SUM(pending) FROM invite_counts`)
		if want := int64(2 * 3 * times); err != nil || counted != want {
			t.Errorf("%d are counted, want %d; %v", counted, want, err)
		}
		if strings.HasPrefix(url, "sqlite:") {
			return
		}
		deadlocks, err := db.One(t.Context(), servers[0], db.Value[int], `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
		if err != nil || deadlocks != 0 {
			t.Errorf("%d deadlocks, %v", deadlocks, err)
		}
	})
}

// Questions that travel together get their own answers, and their own errors.
func TestQuickQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				query, columns, arg := `SELECT CAST($1 AS INTEGER)`, db.Value[int], i
				switch {
				case i%7 == 0:
					query += ` WHERE FALSE`
				case i%11 == 0:
					query += ` FROM nowhere`
				case i%13 == 0:
					columns = func(*int) []any { return []any{new(time.Time), new(int)} }
				case i%17 == 0:
					columns = func(*int) []any { panic("oops") }
				case i%19 == 0:
					arg = 1 << 40 // no INTEGER of PostgreSQL
				}
				n, err := ask(t.Context(), db.Quick(d), columns, query, arg)
				switch {
				case i%7 == 0:
					if !errors.Is(err, db.ErrNoRow) {
						t.Errorf("%d: got %v, want ErrNoRow", i, err)
					}
				case i%11 == 0, i%13 == 0, i%17 == 0:
					if err == nil || errors.Is(err, db.ErrNoRow) {
						t.Errorf("%d: got %v, want another error", i, err)
					}
				case i%19 == 0 && err != nil:
				case err != nil || n != arg:
					t.Errorf("%d: got %d, %v", i, n, err)
				}
			})
		}
		wg.Wait()
	})
}

// ask makes an error of a panic, as the server does for a request.
func ask(ctx context.Context, q db.Querier, columns func(*int) []any, query string, args ...any) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return db.One(ctx, q, columns, query, args...)
}
