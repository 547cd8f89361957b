package db_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A host that does not respond is skipped.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	u, hosts := dbtest.Relayed(t, 2)
	hosts[0].Silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := db.Open(ctx, u)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Closing the connections to a server that does not respond does not take long.
func TestCloseOfSilentServer(t *testing.T) {
	t.Parallel()
	u, hosts := dbtest.Relayed(t, 1)
	d, err := db.Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	hosts[0].Silent.Store(true)
	var asking sync.WaitGroup
	asking.Go(func() {
		if _, err := db.One[int](t.Context(), d, nil, `SELECT 1`); err == nil {
			t.Error("there was an answer")
		}
	})
	defer asking.Wait()
	defer hosts[0].Cut() // otherwise it would take the time limit of a statement
	<-hosts[0].Heard
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = d.View(ctx, func(ctx context.Context, q db.Querier) error {
		_, err := db.One[int](ctx, q, nil, `SELECT 1`)
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	begin := time.Now()
	if err := d.Close(); err != nil || time.Since(begin) > 9*time.Second { // the pool waits 15
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// Queries to a server that stops responding time out, although TCP would wait.
func TestSilentAnswers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one := func(q db.Querier) error {
		_, err := db.One[int](ctx, q, nil, `SELECT 1`)
		return err
	}
	for name, ask := range map[string]func(*db.DB, func(db.Querier) error) error{
		"query": func(d *db.DB, then func(db.Querier) error) error { return then(d) },
		"view": func(d *db.DB, then func(db.Querier) error) error {
			return d.View(ctx, func(_ context.Context, q db.Querier) error { return then(q) })
		},
		"transaction": func(d *db.DB, then func(db.Querier) error) error {
			return d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return then(tx) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, hosts := dbtest.Relayed(t, 1)
			d := dbtest.Open(t, u)
			d.SetPatience(100 * time.Millisecond)
			err := ask(d, func(q db.Querier) error {
				hosts[0].Silent.Store(true)
				return one(q)
			})
			if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() || ctx.Err() != nil || strings.Count(err.Error(), "the database did not answer in time: ") != 1 {
				t.Errorf("got %v", err)
			}
			hosts[0].Silent.Store(false)
			d.SetPatience(time.Minute)
			if err := ask(d, one); err != nil {
				t.Errorf("once it speaks again: %v", err)
			}
		})
	}
}

// The deadline of one transaction does not affect the next use of its connection.
func TestReleasedConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	d.SetPatience(-time.Hour)
	if err := d.InTx(t.Context(), func(context.Context, *db.Tx) error { return nil }); err != nil { // it runs no statement
		t.Fatal(err)
	}
	d.SetPatience(time.Minute)
	if _, err := db.One[int](t.Context(), d, nil, `SELECT 1`); err != nil {
		t.Error(err)
	}
}

// A transaction may take longer than one trip to PostgreSQL may, since each answer shows that it is there.
func TestLongTransaction(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for range 3 {
			if _, err := db.One[int](ctx, tx, nil, `SELECT 1`); err != nil {
				return err
			}
			if err := db.UseUp(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A user and an organization can be erased, even if that takes longer than a trip may.
func TestErasingMayTakeLong(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	s := org.Service{DB: d, Keys: access.NewKeys(d)}
	o, err := s.Create(t.Context(), "Acme")
	if err != nil {
		t.Fatal(err)
	}
	const email = "ada@x.example"
	err = s.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := s.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: o.ID, User: org.User{Email: email}, Level: access.Member})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.SetPatience(-time.Hour)
	if _, err := s.EraseUser(t.Context(), email); err != nil {
		t.Errorf("a user: %v", err)
	}
	if _, err := s.EraseOrganization(t.Context(), o.ID); err != nil {
		t.Errorf("an organization: %v", err)
	}
}
