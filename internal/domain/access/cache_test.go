package access

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A request that waits for a recheck waits no longer than its context allows, and no longer than maxAsk for the query
// of another request.
func TestIdentifyWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) {
			k := NewKeys(dbtest.Open(t, url))
			answers := dbtest.Hang(t, k.DB)
			var asked sync.WaitGroup
			begin := time.Now()
			for range 5 {
				asked.Go(func() {
					const patience = 100 * time.Millisecond
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					err := k.verify(ctx, k.DB.Now())
					if took := time.Since(begin); took != patience || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("after %v: %v", took, err)
					}
				})
			}
			asked.Wait()
			err := k.verify(t.Context(), k.DB.Now())
			if took := time.Since(begin); took != maxAsk || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v", took, err)
			}
			answers()
			if err := k.verify(t.Context(), k.DB.Now()); err != nil {
				t.Error(err)
			}
		})
	})
}

// A recheck that is too old, by a clock that may have stepped, is repeated.
func TestIdentifyAfterALongAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		now := d.Now()
		for _, at := range []time.Time{now, now.Add(time.Hour), now, now.Add(-time.Hour)} {
			before := dbtest.Statements(d)
			check(t, k.verify(t.Context(), at))
			if dbtest.Statements(d) == before {
				t.Errorf("at %v: nobody has asked", at.Sub(now))
			}
			if err := k.verify(t.Context(), at.Add(recheckAfter/2)); err != nil || dbtest.Statements(d) != before+1 {
				t.Errorf("at %v: asked again, %v", at.Sub(now), err)
			}
		}
	})
}

// While a request asks the database, what is in memory may be used for two seconds and no longer.
func TestMemoryIsAskedAfterTwoSeconds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k, now := NewKeys(d), d.Now()
		check(t, k.verify(t.Context(), now))
		for statements, later := range []time.Duration{1900 * time.Millisecond, 2 * time.Second} {
			k.cache.checkedAt.Store(now.UnixMicro())
			k.cache.asking.Store(true)
			before := dbtest.Statements(d)
			if err := k.verify(t.Context(), now.Add(later)); err != nil || dbtest.Statements(d)-before != int64(statements) {
				t.Errorf("after %s: %d statements, %v, want %d", later, dbtest.Statements(d)-before, err, statements)
			}
		}
	})
}

// What has not changed stays in memory.
func TestRecheckKeepsMemory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k, now := NewKeys(d), d.Now()
		check(t, k.verify(t.Context(), now))
		before := k.Version()
		if err := k.verify(t.Context(), now.Add(maxAge)); err != nil || k.Version() != before {
			t.Errorf("%v, version %d; want %d", err, k.Version(), before)
		}
	})
}

// A change that is refused invalidates nothing in memory.
func TestRefusedChangeKeepsMemory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		before := k.Version()
		if err := k.Revoke(t.Context(), 999); !fault.Is(err, fault.NotFound) || k.Version() != before {
			t.Errorf("%v, version %d; want %d", err, k.Version(), before)
		}
		if err := k.Change(t.Context(), func(context.Context, *db.Tx) error { return errors.New("who knows") }); err == nil || k.Version() == before {
			t.Errorf("%v, version %d", err, k.Version())
		}
	})
}

// The keys of users with many organizations take no more memory than others.
func TestCachedKeysAreBounded(t *testing.T) {
	t.Parallel()
	k := NewKeys(nil)
	of := func(n byte) credential { return credential{hash: hash{n}} }
	grants := make([]grant, 10_000)
	for n := range byte(10) {
		k.cache.known.Put(of(n), 0, &Identity{grants: grants})
	}
	for n, want := range map[byte]bool{0: false, 9: true} {
		if _, cached := k.cache.known.Get(of(n), 0); cached != want {
			t.Errorf("key %d is cached: %t, want %t", n, cached, want)
		}
	}
}
