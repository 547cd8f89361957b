package activity_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
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
		if _, err := activity.NumberAll(t.Context(), d); err != nil {
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

// However many lists there are, they are not looked at one by one: those with nothing
// to remove would keep the others from their turn.
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
		if _, err := activity.NumberAll(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		before := d.Statements()
		if err := activity.Tidy(t.Context(), d, now); err != nil {
			t.Fatal(err)
		}
		if n := d.Statements() - before; n != 1 {
			t.Errorf("%d statements, not one", n)
		}
	})
}
