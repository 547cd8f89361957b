package db_test

import (
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/purpose"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// limited returns the url of a database whose role has few connections.
func limited(t *testing.T, connections int) string {
	t.Helper()
	u, err := url.Parse(dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	admin := dbtest.Open(t, u.String()) // this role has no limit
	role := "few_" + path.Base(u.Path)
	err = admin.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, s := range []string{
			`CREATE ROLE ` + role + ` LOGIN CONNECTION LIMIT ` + strconv.Itoa(connections),
			`GRANT ALL ON ALL TABLES IN SCHEMA public TO ` + role,
		} {
			if err := db.Exec(ctx, tx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// Servers with more clients than PostgreSQL has connections make do with those they get.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	u := limited(t, 5)
	servers := []*db.DB{dbtest.Open(t, u), dbtest.Open(t, u)}
	var clients sync.WaitGroup
	for i := range 32 {
		clients.Go(func() {
			for range 20 {
				if one, inTx := ask(t.Context(), servers[i%2]); one != nil || inTx != nil {
					t.Error(one, inTx)
				}
			}
		})
	}
	clients.Wait()
}

// hold returns once n transactions run, with a function that ends them.
func hold(t *testing.T, d *db.DB, n int) (end func()) {
	t.Helper()
	var all, inside sync.WaitGroup
	inside.Add(n)
	ended := make(chan struct{})
	for range n {
		all.Go(func() {
			enter := sync.OnceFunc(inside.Done)
			defer enter()
			if err := d.InTx(t.Context(), func(context.Context, *db.Tx) error { enter(); <-ended; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	inside.Wait()
	return func() { close(ended); all.Wait() }
}

// A server uses more connections once PostgreSQL has more, even if nobody returns one.
func TestMoreConnectionsLater(t *testing.T) {
	t.Parallel()
	address := limited(t, 5)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	d, admin := dbtest.Open(t, address), *u
	admin.User = url.User("postgres")
	held := make(chan func(), 1)
	go func() { held <- hold(t, d, 10) }()
	awaitQueued(d, 1)
	administer(t, admin.String(), `ALTER ROLE `+u.User.Username()+` CONNECTION LIMIT 20`)
	(<-held)()
}

// A caller that gets no connection in time gets an error that says so, when opening a database and later.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	u := limited(t, 1)
	held := dbtest.Open(t, u)
	err := held.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		refused, opened := make(chan error, 2), make(chan error, 1)
		go func() {
			_, err := db.One[int](t.Context(), held, nil, `SELECT 1`)
			refused <- err
		}()
		go func() {
			refused <- held.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				_, err := db.One[int](ctx, tx, nil, `SELECT 1`)
				return err
			})
		}()
		go func() {
			begin := time.Now()
			_, err := db.Open(t.Context(), u)
			if waited := time.Since(begin); waited < 9*time.Second || waited > 20*time.Second {
				t.Errorf("waited for %v", waited)
			}
			opened <- err
		}()
		for len(refused)+len(opened) < cap(refused)+cap(opened) { // it has the only connection, and is not idle
			if _, err := db.One[string](ctx, tx, nil, `SELECT pg_sleep(0.1)::TEXT`); err != nil {
				return err
			}
		}
		for range cap(refused) {
			wantUnavailable(t, <-refused, "no connection")
		}
		if err := <-opened; err == nil || !strings.Contains(err.Error(), "too many connections") {
			t.Errorf("got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if one, inTx := ask(t.Context(), held); one != nil || inTx != nil {
		t.Error(one, inTx)
	}
}

// Callers of one purpose wait for each other in the order they came once they have half of the connections. Who does not
// wait any longer gets none.
func TestHalfOfTheConnections(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	endOthers, endOne := hold(t, d, 9), hold(t, d, 1)
	nothing := func(context.Context, *db.Tx) error { return nil }
	for range 2 * 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		err := d.InTx(ctx, nothing)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want context.DeadlineExceeded", err)
		}
	}
	var waiters sync.WaitGroup
	var came []int
	for i := range 3 {
		waiters.Go(func() {
			if err := d.InTx(t.Context(), func(context.Context, *db.Tx) error { came = append(came, i); return nil }); err != nil { // one at a time
				t.Error(err)
			}
		})
		awaitQueued(d, i+1)
	}
	endOne()
	waiters.Wait()
	if !slices.Equal(came, []int{0, 1, 2}) {
		t.Errorf("came in the order %v", came)
	}
	endOthers()
	hold(t, d, 10)()
}

// However many callers wait to read or change a locked table, others get answers.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	u := dbtest.Postgres(t)
	d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	err := beside.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `LOCK TABLE plugins`); err != nil {
			return err
		}
		stuck, release := context.WithCancel(purpose.With(t.Context(), "plugins"))
		defer release()
		for range 50 {
			waiting.Go(func() { _, _ = db.One[int](stuck, d, nil, `SELECT COUNT(*) FROM plugins`) })
			waiting.Go(func() {
				_ = d.InTx(stuck, func(ctx context.Context, tx *db.Tx) error {
					return db.Exec(ctx, tx, `DELETE FROM plugins`)
				})
			})
		}
		for n := 0; n < 10; { // half of the connections wait
			var err error
			n, err = dbtest.Waiting(t.Context(), beside)
			if err != nil {
				return err
			}
		}
		for _, whom := range []string{"", "invites"} { // the table stays locked
			if one, inTx := ask(purpose.With(t.Context(), whom), d); one != nil || inTx != nil {
				t.Error(one, inTx)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
