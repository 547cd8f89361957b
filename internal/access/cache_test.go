package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
	"foyer/internal/fault"
)

// Whoever needs the database to know whether a key still holds waits no longer than
// they want to, and for others no longer than for the database.
func TestIdentifyWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		k, beside := &Keys{DB: dbtest.Open(t, url)}, dbtest.Open(t, url)
		if strings.HasPrefix(url, "sqlite:") {
			t.Skip("nobody can lock it for readers")
		}
		var asked sync.WaitGroup
		begin := time.Now()
		err := beside.InTx(t.Context(), func(tx *db.Tx) error {
			if _, err := db.Exec(t.Context(), tx, `LOCK TABLE access_version IN ACCESS EXCLUSIVE MODE`); err != nil {
				return err
			}
			for range 5 {
				asked.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					if err := k.verify(ctx, k.DB.Now()); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v", err)
					}
				})
			}
			asked.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 4*maxAsk)
			defer cancel()
			if err := k.verify(ctx, k.DB.Now()); err == nil {
				t.Error("an answer without the database")
			}
			return nil
		})
		if took := time.Since(begin); err != nil || took > 3*maxAsk {
			t.Errorf("it took %v, %v", took, err)
		}
		if err := k.verify(t.Context(), k.DB.Now()); err != nil {
			t.Error(err)
		}
	})
}

// What others have asked long ago is asked again.
func TestIdentifyAfterALongAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := &Keys{DB: d}
		now := d.Now()
		for _, at := range []time.Time{now, now.Add(time.Hour), now, now.Add(-time.Hour)} {
			before := d.Statements()
			if err := k.verify(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			if d.Statements() == before {
				t.Errorf("at %v: nobody has asked", at.Sub(now))
			}
			if err := k.verify(t.Context(), at.Add(recheckAfter/2)); err != nil || d.Statements() != before+1 {
				t.Errorf("at %v: asked again, %v", at.Sub(now), err)
			}
		}
	})
}

// Who is refused has changed nothing that is in memory.
func TestRefusedChangeKeepsMemory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := &Keys{DB: d}
		before := k.Version()
		if err := k.Revoke(t.Context(), 999); !fault.Is(err, fault.NotFound) || k.Version() != before {
			t.Errorf("%v, version %d; want %d", err, k.Version(), before)
		}
		if err := k.Change(t.Context(), func(*db.Tx) error { return errors.New("who knows") }); err == nil || k.Version() == before {
			t.Errorf("%v, version %d", err, k.Version())
		}
	})
}
