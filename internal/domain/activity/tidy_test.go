package activity_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/trace"
)

func TestTidyKeepsCountsExact(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const acme, other = "1", "2"
		const old, fresh = 1100, 3
		now := d.Now()
		record := func(in string, s activity.Scope, at time.Time, n int) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				for range n {
					if err := activity.Record(t.Context(), tx, activity.Entry{OrganizationID: in, Scope: s, Verb: activity.Created}, at); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		record(acme, activity.Plugin, now.Add(-2*time.Hour), old)
		record(acme, activity.Invite, now.Add(-2*time.Hour), 1)
		record(acme, activity.Membership, now.Add(-2*time.Hour), old)
		record(acme, activity.Plugin, now, fresh)
		record(acme, activity.Membership, now.Add(-2*time.Hour), 1) // by a clock that was behind
		record(other, activity.Plugin, now.Add(-2*time.Hour), fresh)
		if err := activity.NumberAll(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := activity.Tidy(t.Context(), d, now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{acme, other} {
			if v, err := activity.Verify(t.Context(), d, in, activity.Kept{}); v.Wrong != "" || err != nil {
				t.Errorf("%s: %s, %v", in, v.Wrong, err)
			}
		}
		holds := func(in string, s activity.Scope, want int) {
			t.Helper()
			f := activity.Filter{OrganizationID: in}
			if s != "" {
				f.Scopes = []activity.Scope{s}
			}
			found, err := activity.List(t.Context(), d, f, page.First)
			if err != nil || found.Count != want || len(found.Items) != want {
				t.Errorf("%s, %q: %d counted, %d there, want %d, %v", in, s, found.Count, len(found.Items), want, err)
			}
		}
		holds(acme, activity.Plugin, fresh)
		holds(acme, activity.Invite, 0)
		holds(acme, activity.Membership, 1)
		holds(acme, "", fresh+1)
		holds(other, activity.Plugin, 0)
	})
}

// Tidy does not look at each organization: those with nothing to remove would delay the others.
func TestTidyLeavesWhatIsNotDue(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := d.Now()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for i := range 50 {
				e := activity.Entry{OrganizationID: strconv.Itoa(i), Scope: activity.Plugin, Verb: activity.Created}
				if err := activity.Record(t.Context(), tx, e, now); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := activity.NumberAll(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		before := dbtest.Statements(d)
		if err := activity.Tidy(t.Context(), d, now); err != nil {
			t.Fatal(err)
		}
		if n := dbtest.Statements(d) - before; n != 1 {
			t.Errorf("%d statements, not one", n)
		}
	})
}

// Traces that are too old are removed in short transactions, however many there are.
func TestDropTraces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := d.Now()
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			const insert = `INSERT INTO event_traces (organization_id, request_id, parent, created_at) `
			return errors.Join(
				db.Exec(ctx, tx, `INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at) VALUES ('1', '', 0, FALSE, FALSE, '', $1)`, now),
				db.Exec(ctx, tx, insert+`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
					SELECT '1', CAST(i AS TEXT), '', CAST($1 AS TIMESTAMPTZ) FROM n`, now.Add(-2*time.Hour)),
				db.Exec(ctx, tx, insert+`VALUES ('1', 'young', '', $1)`, now))
		})
		if err != nil {
			t.Fatal(err)
		}
		before := dbtest.Statements(d)
		if err := activity.DropData(t.Context(), d, now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		left, err := db.All[string](t.Context(), d, nil, `SELECT request_id FROM event_traces`)
		if statements := dbtest.Statements(d) - before; len(left) != 1 || statements < 5 || err != nil {
			t.Errorf("%v left, after %d statements, %v", left, statements, err)
		}
	})
}

// The entries of a request are part of its trace, in each organization by itself.
func TestTraceOf(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		settings := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"} // nothing is sent there: no span ends
		tracer, err := trace.New(func(name string) string { return settings[name] }, "", d.Now)
		if err != nil {
			t.Fatal(err)
		}
		requests := []struct{ in, id, parent string }{{"acme", "1", ""}, {"acme", "2", ""}, {"other", "1", ""}, {"acme", "untraced", ""}}
		for i, r := range requests {
			ctx := t.Context()
			if r.id != "untraced" {
				ctx, _ = tracer.Continue(ctx, "", "request", trace.Server)
				requests[i].parent = trace.From(ctx).Parent()
			}
			err := d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
				e := activity.Entry{OrganizationID: r.in, RequestID: r.id, Scope: activity.Site, Verb: activity.Created}
				return errors.Join(activity.Record(ctx, tx, e, d.Now()), activity.Record(ctx, tx, e, d.Now()))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range requests {
			if parent, err := activity.TraceOf(t.Context(), d, r.in, r.id); parent != r.parent || err != nil {
				t.Errorf("request %s in %s: %q, %v, want %q", r.id, r.in, parent, err, r.parent)
			}
		}
	})
}

// An entry that a clock which was behind has made does not drop the data of those before it, and one by a clock that was
// ahead does not keep the data of those after it. What one organization drops says nothing about another.
func TestDropDataOfWrongClocks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const day = 24 * time.Hour
		now := d.Now()
		record := func(organizationID string, made ...time.Duration) {
			t.Helper()
			for _, made := range made {
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					e := activity.Entry{OrganizationID: organizationID, Scope: activity.Site, Verb: activity.Created, Data: `{}`}
					return activity.Record(ctx, tx, e, now.Add(made))
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		record("acme", -40*day, 400*day, -35*day, -time.Hour, -365*day, 0)
		record("other", -35*day, -time.Hour)
		if err := activity.NumberAll(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := activity.DropData(t.Context(), d, now.Add(-30*day)); err != nil {
			t.Fatal(err)
		}
		for in, want := range map[string][]int64{"acme": {4, 5, 6}, "other": {2}} {
			left, _, err := activity.WithData(t.Context(), d, in, 0, 10, 1000)
			var numbers []int64
			for _, e := range left {
				numbers = append(numbers, e.Number)
			}
			if err != nil || !slices.Equal(numbers, want) {
				t.Errorf("%s: %d are left, %v", in, numbers, err)
			}
			if v, err := activity.Verify(t.Context(), d, in, activity.Kept{}); v.Wrong != "" || err != nil {
				t.Errorf("%s: %s, %v", in, v.Wrong, err)
			}
		}
	})
}

// Erasing a person and removing old entries, or their data, take turns, whatever order they lock the entries in.
func TestTidyWhileErasing(t *testing.T) {
	t.Parallel()
	for what, tidy := range map[string]func(ctx context.Context, d *db.DB, before time.Time) error{"entries": activity.Tidy, "data": activity.DropData} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tidyWhileErasing(t, tidy)
		})
	}
}

func tidyWhileErasing(t *testing.T, tidy func(context.Context, *db.DB, time.Time) error) {
	t.Helper()
	d := dbtest.Open(t, dbtest.Postgres(t)) // SQLite has one transaction at a time
	old := d.Now().Add(-2 * time.Hour)
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (all error) {
		for _, data := range []string{`{"email":"ada@x.example"}`, `{"uuid":"user-1"}`} { // the second one is erased first
			e := activity.Entry{OrganizationID: "acme", Scope: activity.Invite, Verb: activity.Created, Data: data}
			all = errors.Join(all, activity.Record(ctx, tx, e, old))
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := activity.NumberAll(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	tidied, erased := make(chan error, 1), make(chan error, 1)
	err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.One[int64](ctx, tx, nil, `SELECT id FROM activity ORDER BY id LIMIT 1 FOR UPDATE`); err != nil {
			return err
		}
		go func() { tidied <- tidy(t.Context(), d, d.Now()) }()
		if err := dbtest.AwaitWaiting(t.Context(), d, 1, tidied, erased); err != nil {
			return err
		}
		go func() {
			erased <- d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return activity.Erase(ctx, tx, activity.Person{UserID: 1, UUID: "user-1", Emails: []string{"ada@x.example"}})
			})
		}()
		return dbtest.AwaitWaiting(t.Context(), d, 2, tidied, erased)
	})
	if err := errors.Join(err, <-tidied, <-erased); err != nil {
		t.Error(err)
	}
}
