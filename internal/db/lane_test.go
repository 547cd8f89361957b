package db_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
					return db.Run(t.Context(), tx, `UPDATE users SET first_name = $1 WHERE id = `+tx.LastID("users"), name+"'s")
				})
				if err != nil {
					if name != "twin" || !errors.Is(err, db.ErrUnique) {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
				made.Add(1)
				got, err := db.One(t.Context(), d, db.Value[string], `SELECT email || ' ' || first_name FROM users WHERE id = $1`, id)
				if want := name + " " + name + "'s"; err != nil || got != want {
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
		if n, err := db.One(t.Context(), d, db.Value[int], `SELECT COUNT(*) FROM users`); err != nil || n != 0 {
			t.Errorf("%d users are left, %v", n, err)
		}
	})
}

// On PostgreSQL there is no answer before the trip, so asking is an error there.
func TestBlindTransactionThatAsks(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	for name, ask := range map[string]func(tx *db.Tx) error{
		"One":    func(tx *db.Tx) error { _, err := db.One(t.Context(), tx, db.Value[int], `SELECT 1`); return err },
		"Exec":   func(tx *db.Tx) error { _, err := db.Exec(t.Context(), tx, makeUser, "a", false, d.Now()); return err },
		"Insert": func(tx *db.Tx) error { _, err := db.Insert(t.Context(), tx, makeUser, "a", false, d.Now()); return err },
		"Ask": func(tx *db.Tx) error {
			_, err := db.Ask(t.Context(), tx, db.Value[int], `SELECT 1`)()
			return err
		},
	} {
		if err := d.InBlindTx(t.Context(), ask); err == nil {
			t.Errorf("%s went through", name)
		}
	}
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

// Questions that travel together get their own answers.
func TestQuickQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				query := `SELECT CAST($1 AS INTEGER)`
				switch {
				case i%7 == 0:
					query += ` WHERE FALSE`
				case i%11 == 0:
					query += ` FROM nowhere`
				}
				n, err := db.One(t.Context(), d.Quick(), db.Value[int], query, i)
				switch {
				case i%7 == 0:
					if !errors.Is(err, db.ErrNoRow) {
						t.Errorf("%d: got %v, want ErrNoRow", i, err)
					}
				case i%11 == 0:
					if err == nil || errors.Is(err, db.ErrNoRow) {
						t.Errorf("%d: got %v, want an error of the engine", i, err)
					}
				case err != nil || n != i:
					t.Errorf("%d: got %d, %v", i, n, err)
				}
			})
		}
		wg.Wait()
	})
}
