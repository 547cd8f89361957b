package db_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
)

// relay passes a server's connections on, until it falls silent: then it takes what
// comes and says nothing.
type relay struct {
	address string
	silent  atomic.Bool
	heard   chan struct{} // something came and was not passed on
}

func startRelay(t *testing.T, socket string) *relay {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: ln.Addr().String(), heard: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		ln.Close()
	})
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err != nil {
				client.Close()
				continue
			}
			context.AfterFunc(ctx, func() {
				client.Close()
				server.Close()
			})
			go r.pass(client, server)
			go r.pass(server, client)
		}
	}()
	return r
}

func (r *relay) pass(from io.Reader, to io.WriteCloser) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if r.silent.Load() {
			if err != nil {
				return
			}
			select {
			case r.heard <- struct{}{}:
			default:
			}
			continue
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			to.Close()
			return
		}
	}
}

// relayed returns the url of a PostgreSQL database behind relays, which are its hosts.
func relayed(t *testing.T, n int) (string, []*relay) {
	t.Helper()
	u, err := url.Parse(dbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	relays, addresses := make([]*relay, n), make([]string, n)
	for i := range relays {
		relays[i] = startRelay(t, path.Join(u.Query().Get("host"), ".s.PGSQL.5432"))
		addresses[i] = relays[i].address
	}
	return "postgres://postgres@" + strings.Join(addresses, ",") + u.Path + "?sslmode=disable", relays
}

// A host that says nothing is passed over.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	u, hosts := relayed(t, 2)
	hosts[0].silent.Store(true)
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

// Nobody waits long to say goodbye to a server that says nothing.
func TestCloseOfSilentServer(t *testing.T) {
	t.Parallel()
	u, hosts := relayed(t, 1)
	d, err := db.Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	hosts[0].silent.Store(true)
	var asking sync.WaitGroup
	asking.Go(func() {
		if _, err := db.One(t.Context(), db.Quick(d), db.Value[int], `SELECT 1`); err == nil {
			t.Error("there was an answer")
		}
	})
	defer asking.Wait()
	<-hosts[0].heard
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = d.View(ctx, func(q db.Querier) error {
		_, err := db.One(ctx, q, db.Value[int], `SELECT 1`)
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	begin := time.Now()
	if err := d.Close(); err != nil || time.Since(begin) > 9*time.Second { // a lane waits 10, the pool 15
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

// Nobody waits for ever for a server that has fallen silent: TCP would.
func TestSilentAnswers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	one := func(q db.Querier) error {
		_, err := db.One(ctx, q, db.Value[int], `SELECT 1`)
		return err
	}
	for name, ask := range map[string]func(*db.DB, func(db.Querier) error) error{
		"query": func(d *db.DB, then func(db.Querier) error) error { return then(d) },
		"view":  func(d *db.DB, then func(db.Querier) error) error { return d.View(ctx, then) },
		"transaction": func(d *db.DB, then func(db.Querier) error) error {
			return d.InTx(ctx, func(tx *db.Tx) error { return then(tx) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, hosts := relayed(t, 1)
			d := dbtest.Open(t, u)
			d.SetPatience(100 * time.Millisecond)
			err := ask(d, func(q db.Querier) error {
				hosts[0].silent.Store(true)
				return one(q)
			})
			if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() || ctx.Err() != nil || strings.Count(err.Error(), "the database did not answer in time: ") != 1 {
				t.Errorf("got %v", err)
			}
			hosts[0].silent.Store(false)
			d.SetPatience(time.Minute)
			if err := ask(d, one); err != nil {
				t.Errorf("once it speaks again: %v", err)
			}
		})
	}
}

// The time that one transaction has does not end the next use of its connection.
func TestReleasedConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	d.SetPatience(-time.Hour)
	if err := d.InTx(t.Context(), func(*db.Tx) error { return nil }); err != nil { // it asks nothing
		t.Fatal(err)
	}
	d.SetPatience(time.Minute)
	if _, err := db.One(t.Context(), d, db.Value[int], `SELECT 1`); err != nil {
		t.Error(err)
	}
}
