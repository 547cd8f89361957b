package access

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// claim claims a request that has no answer yet.
func claim(t *testing.T, k *Keys, c Caller, name string, answer Answer) *Claim {
	t.Helper()
	claimed, kept, err := k.Claim(t.Context(), c, name, "request", func(any) Answer { return answer })
	if err != nil || kept != nil {
		t.Fatal(kept, err)
	}
	return claimed
}

// answer claims a request and stores its answer.
func answer(t *testing.T, k *Keys, c Caller, name string, a Answer) {
	t.Helper()
	check(t, claim(t, k, c, name, a).Done(t.Context(), a))
}

// A request that takes longer than its lease keeps it, and the same request sent again is told to wait. A lease that is
// not renewed ends.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		at := d.Now()
		d.Now = func() time.Time { return at }
		k := NewKeys(d)
		userID, ids := withKeys(t, k, 0)
		c := Caller{UserID: userID, KeyID: ids[0]}
		first := claim(t, k, c, "name", Answer{})
		later := at.Add(20 * time.Second)
		d.Now = func() time.Time { return later }
		k.renew = time.Millisecond
		stop := first.Renew(t.Context())
		for renewed := false; !renewed && t.Context().Err() == nil; {
			var err error
			renewed, err = db.One[bool](t.Context(), d, nil, `SELECT lease_ends > $1 FROM idempotency`, at.Add(answerLease))
			check(t, err)
		}
		stop()
		later = at.Add(40 * time.Second)
		if _, _, err := k.Claim(t.Context(), c, "name", "request", nil); !fault.Is(err, fault.IdempotencyInProgress) {
			t.Errorf("a twin: %v", err)
		}
		later = at.Add(60 * time.Second)
		claim(t, k, c, "name", Answer{})
	})
}

// The lease of a server that died ends when the clock steps back; a stored answer stays.
func TestLeaseWhenTheClockStepsBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		caller := Caller{UserID: userID}
		claim(t, k, caller, "name", Answer{})
		c.now = c.now.Add(-time.Hour)
		answer(t, k, caller, "name", Answer{Status: 200, Body: "{}"})
		c.now = c.now.Add(-time.Hour)
		if _, kept, err := k.Claim(t.Context(), caller, "name", "request", nil); err != nil || kept == nil || kept.Status != 200 {
			t.Errorf("kept: %+v, %v", kept, err)
		}
	})
}

// A request that was overtaken stores nothing and gives nothing up, even if the one that overtook it was given up and
// sent again.
func TestLeaseIsOvertakenTwice(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		made := Answer{Status: 201, ETag: `"1"`, Body: "{}", Item: "7"}
		claim := func() *Claim { return claim(t, k, Caller{UserID: userID}, "name", made) }
		keep := func(claim *Claim) error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return KeepAnswer(claim.With(ctx), tx, "made") })
		}
		paused := claim()
		c.now = c.now.Add(answerLease + time.Second)
		check(t, claim().GiveUp(t.Context()))
		last := claim()
		if err := keep(paused); !fault.Is(err, fault.IdempotencyInProgress) {
			t.Errorf("overtaken: %v", err)
		}
		check(t, paused.GiveUp(t.Context()))
		if err := keep(last); err != nil {
			t.Errorf("the last: %v", err)
		}
		check(t, last.GiveUp(t.Context())) // in vain: it was carried out
		if _, kept, err := k.Claim(t.Context(), Caller{UserID: userID}, "name", "request", nil); err != nil || kept == nil || *kept != made {
			t.Errorf("sent again: %+v, %v", kept, err)
		}
	})
}

// A request that was overtaken neither renews the lease of the one that overtook it nor answers in its place.
func TestOvertakenNeitherRenewsNorAnswers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		claim := func() *Claim { return claim(t, k, Caller{UserID: userID}, "name", Answer{}) }
		paused := claim()
		c.now = c.now.Add(answerLease + time.Second)
		claim()
		c.now = c.now.Add(answerLease - time.Second)
		check(t, errors.Join(paused.renew(t.Context()), paused.Done(t.Context(), Answer{Status: 500})))
		c.now = c.now.Add(2 * time.Second)
		claim()
	})
}

// Of two retries that find a lease ended at once, only one carries the request out.
func TestLeaseIsOvertakenOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		claim := func() error {
			_, _, err := k.Claim(t.Context(), Caller{UserID: userID}, "name", "request", nil)
			return err
		}
		check(t, claim())
		c.now = c.now.Add(answerLease + time.Second)
		claimed := make(chan error, 2)
		again := func() error { claimed <- claim(); return nil }
		start, end := dbtest.Meanwhile(t, d, again, again)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := db.One[int](ctx, tx, nil, `SELECT 1 FROM idempotency FOR UPDATE`); err != nil {
				return err
			}
			start()
			return nil
		})
		check(t, err)
		end()
		first, second := <-claimed, <-claimed
		if (first == nil) == (second == nil) || !fault.Is(cmp.Or(first, second), fault.IdempotencyInProgress) {
			t.Errorf("%v, %v", first, second)
		}
	})
}

// If the client disconnects while its claim is being committed, a retry does not wait for the end of a lease.
func TestClaimOfWhoDisconnects(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t))
	k := NewKeys(d)
	userID, _ := withKeys(t, k)
	const commit = "commit"
	dbtest.Exec(t, d, `
		CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_advisory_xact_lock(hashtextextended('`+commit+`', 0)); RETURN NULL; END $$`)
	dbtest.Exec(t, d, `
		CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON idempotency DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`)
	ctx, disconnect := context.WithCancel(t.Context())
	start, end := dbtest.Meanwhile(t, d, func() error {
		claimed, _, err := k.Claim(ctx, Caller{UserID: userID}, "name", "request", nil)
		if err != nil {
			return nil //nolint:nilerr // there is nothing to give up
		}
		return claimed.GiveUp(t.Context())
	})
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		db.Lock(tx, commit)
		if _, err := db.One[int](ctx, tx, nil, `SELECT 1`); err != nil { // with which the lock is taken
			return err
		}
		start()
		disconnect()
		return nil
	})
	check(t, err)
	end()
	claim(t, k, Caller{UserID: userID}, "name", Answer{})
}

// Answers that are too old are removed in short transactions, however many there are.
func TestTidyAnswers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, _ := withKeys(t, k)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(ctx, tx, `
				INSERT INTO idempotency (user_id, key_id, session_id, organization_id, name, fingerprint, attempt, lease_ends, status, etag, item, created_at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
				SELECT CAST($1 AS BIGINT), 0, 0, '', CAST(i AS TEXT), '', 1, CAST($2 AS TIMESTAMPTZ), 200, '', '', CAST($2 AS TIMESTAMPTZ) FROM n`,
				userID, d.Now().Add(-keepAnswers-time.Minute))
		})
		check(t, err)
		claim(t, k, Caller{UserID: userID}, "young", Answer{})
		before := dbtest.Statements(d)
		check(t, k.Tidy(t.Context()))
		left, err := db.All[string](t.Context(), d, nil, `SELECT name FROM idempotency`)
		if statements := dbtest.Statements(d) - before; len(left) != 1 || statements < 5 || err != nil {
			t.Errorf("%d left, after %d statements, %v", len(left), statements, err)
		}
	})
}

// A client can get an answer again for a day. Then the Idempotency-Key is free for another request.
func TestAnswersAreKeptForADay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		began := d.Now()
		k := NewKeys(d)
		userID, _ := withKeys(t, k)
		c := Caller{UserID: userID}
		first := Answer{Status: 200, ETag: `"1"`, Body: "{}", Item: "7"}
		answer(t, k, c, "once", first)
		var last *Claim
		for _, later := range []time.Duration{23 * time.Hour, 25 * time.Hour} {
			d.Now = func() time.Time { return began.Add(later) }
			tidied := k.Tidy(t.Context())
			again, kept, err := k.Claim(t.Context(), c, "once", "request", nil)
			live := later < 24*time.Hour
			if err != nil || tidied != nil || (kept != nil) != live || live && *kept != first {
				t.Errorf("after %s: %+v, %v, %v", later, kept, err, tidied)
			}
			last = again
		}
		check(t, last.Done(t.Context(), first))
		d.Now = func() time.Time { return began.Add(50 * time.Hour) } // nothing is tidied
		claim, kept, err := k.Claim(t.Context(), c, "once", "another", nil)
		if err != nil || kept != nil {
			t.Fatalf("another: %+v, %v", kept, err)
		}
		left, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM idempotency WHERE etag <> '' OR item <> '' OR body IS NOT NULL`)
		if err != nil || left != 0 {
			t.Errorf("%d old answers are left, %v", left, err)
		}
		if _, _, err := k.Claim(t.Context(), c, "once", "another", nil); !fault.Is(err, fault.IdempotencyInProgress) {
			t.Errorf("another, sent twice: %v", err)
		}
		check(t, claim.Done(t.Context(), Answer{Status: 201}))
		if _, kept, err := k.Claim(t.Context(), c, "once", "another", nil); err != nil || kept == nil || kept.Status != 201 {
			t.Errorf("another, again: %+v, %v", kept, err)
		}
	})
}

// A stored answer that shows an address in capitals is found in any locale, also in a Turkish one, where I is not the
// capital of i.
func TestEraseAnswersInTurkish(t *testing.T) {
	t.Parallel()
	d := dbtest.InTurkish(t, "idempotency", "body")
	k := NewKeys(d)
	userID, _ := withKeys(t, k)
	answer(t, k, Caller{UserID: userID}, "once", Answer{Status: 200, Body: `{"description":"INFO@IX.EXAMPLE"}`})
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return k.EraseUser(ctx, tx, activity.Person{UUID: "01890000-0000-7000-8000-00000000000a", Emails: []string{"info@ix.example"}})
	})
	left, failed := db.One[int](t.Context(), d, nil, `SELECT COUNT(body) FROM idempotency`)
	if err != nil || failed != nil || left != 0 {
		t.Errorf("%d are left, %v, %v", left, err, failed)
	}
}

// Nothing is left of an erased user's own requests, whatever their answers show. Those of others stay.
func TestEraseAnswersOfAUser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		ada, bea := newUser(t, k, "ada"), newUser(t, k, "bea")
		for _, user := range []int64{ada, bea} {
			answer(t, k, Caller{UserID: user}, "once", Answer{Status: 200, Body: "{}"})
		}
		erased := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return k.EraseUser(ctx, tx, activity.Person{UserID: ada, UUID: "01890000-0000-7000-8000-00000000000a", Emails: []string{"ada@x.example"}})
		})
		left, err := db.All[int64](t.Context(), d, nil, `SELECT user_id FROM idempotency WHERE body IS NOT NULL`)
		if erased != nil || err != nil || !slices.Equal(left, []int64{bea}) {
			t.Errorf("answers of %d are left, %v, %v", left, erased, err)
		}
	})
}

// Answers that show a person may be removed for their age while the person is erased.
func TestAnswersAreTidiedWhileErasing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, _ := withKeys(t, k)
		for _, name := range []string{"once", "twice"} {
			answer(t, k, Caller{UserID: userID}, name, Answer{Status: 200, Body: `{"email":"bea@x.example"}`})
		}
		start, end := dbtest.Meanwhile(t, d, func() error {
			return d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return k.EraseUser(ctx, tx, activity.Person{UUID: "01890000-0000-7000-8000-00000000000a", Emails: []string{"bea@x.example"}})
			})
		})
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := db.Changed(ctx, tx, `DELETE FROM idempotency`); err != nil {
				return err
			}
			start()
			return nil
		})
		check(t, err)
		end()
	})
}

// Each key, session, organization and name has answers of its own, even with the same Idempotency-Key.
func TestAnswersOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		ada, _ := withKeys(t, k)
		bea := newUser(t, k, "bea")
		in := func(organizationID string, c Caller) Caller { c.Organization.ID = organizationID; return c }
		callers := []Caller{
			{UserID: ada},
			{UserID: ada, KeyID: 1},
			{UserID: ada, KeyID: 2},
			{UserID: ada, SessionID: 1},
			{UserID: ada, SessionID: 2},
			{UserID: bea},
			in("one", Caller{UserID: ada}), in("two", Caller{UserID: ada}),
		}
		each := func(do func(c Caller, name string, body string)) {
			for i, c := range callers {
				for _, name := range []string{"once", "twice"} {
					do(c, name, name+strconv.Itoa(i))
				}
			}
		}
		each(func(c Caller, name, body string) {
			answer(t, k, c, name, Answer{Status: 200, Body: body})
		})
		each(func(c Caller, name, body string) {
			if _, kept, err := k.Claim(t.Context(), c, name, "request", nil); err != nil || kept == nil || kept.Body != body {
				t.Errorf("%s: %+v, %v", body, kept, err)
			}
		})
	})
}
