package activity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// No entry has a change whose before and after are equal.
func TestEqualChangesAreLeftOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		changes := []Change{Changed("level", 1, 8), Changed("ids", []int64{1, 2}, []int64{1, 2}), Changed("name", "a", "a")}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return Record(ctx, tx, Entry{OrganizationID: ours, Scope: Plugin, Verb: Updated, Changes: changes}, d.Now())
		})
		last, failed := Last(t.Context(), d, Filter{OrganizationID: ours})
		if want := `[{"action":"changed","field":"level","before":1,"after":8}]`; err != nil || failed != nil || last.Changes != want || len(changes) != 3 {
			t.Errorf("%s, %v, %v", last.Changes, err, failed)
		}
	})
}

// Verify reports missing data unless it was erased, which the entry shows, or dropped with all older data.
func TestVerifyMissesData(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const last = 12
		record(t, d, ours, last)
		numberAll(t, d)
		do := func(what string, change func(context.Context, *db.Tx) error) {
			t.Helper()
			if err := d.InTx(t.Context(), change); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		wants := func(what, want string, erased int) {
			t.Helper()
			if v := verify(t, d, ours, Kept{}); !strings.HasPrefix(v.Wrong, want) || want == "" && v.Wrong != "" {
				t.Errorf("%s: %q, want %q", what, v.Wrong, want)
			}
			found, err := List(t.Context(), d, Filter{OrganizationID: ours}, page.First)
			n := 0
			for _, e := range found.Items {
				if e.Erased {
					n++
				}
			}
			if err != nil || n != erased {
				t.Errorf("%s: %d entries show erased, not %d, %v", what, n, erased, err)
			}
		}
		do("drop", func(ctx context.Context, tx *db.Tx) error { return clearData(ctx, tx, ours, 2) })
		wants("dropped", "", 0)
		for i := 2; i < last; i++ {
			if dataOf(i) == "" {
				continue
			}
			is := fmt.Sprintf(` WHERE id = (SELECT activity_id FROM activity_numbers WHERE number = %d)`, i+1)
			do("remove", func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE activity SET data = NULL`+is)
			})
			wants("removed", fmt.Sprintf("entry %d ", i+1), 0)
			do("put back", func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE activity SET data = $1`+is, dataOf(i))
			})
		}
		record(t, d, ours, 3) // two of which have data, and no number yet
		do("erase", func(ctx context.Context, tx *db.Tx) error { return EraseEvents(ctx, tx, ours) })
		numberAll(t, d)
		wants("erased", "", 9)
		do("drop what is erased", func(ctx context.Context, tx *db.Tx) error { return clearData(ctx, tx, ours, last+3) })
		wants("erased and dropped", "", 0)
		do("drop what is to come", func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(ctx, tx, `UPDATE activity_chains SET data_dropped = data_dropped + 1`)
		})
		wants("dropped before it is made", fmt.Sprintf("entry %d ", last+3), 0)
	})
}

// A chain whose end was removed is still found and wrong, even if the organization has been erased.
func TestVerifyMissesTheEnd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, ours, 3)
		numberAll(t, d)
		dbtest.Exec(t, d, `DELETE FROM activity_chains`)
		chains, err := Chains(t.Context(), d)
		if v := verify(t, d, ours, Kept{}); err != nil || !slices.Contains(chains, ours) || !strings.HasPrefix(v.Wrong, "entry 3 ") {
			t.Errorf("%q, of %q: %q, %v", chains, ours, v.Wrong, err)
		}
	})
}

// Verify follows a chain over many parts, whatever is missing from it, and finds entries that were put in however far
// away.
func TestVerifyManyParts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const n = 3*partEntries + 5
		record(t, d, ours, n)
		numberAll(t, d)
		if v := verify(t, d, ours, Kept{}); v.Wrong != "" || v.Entries != n {
			t.Errorf("%+v", v)
		}
		move := func(from, to int64) func(context.Context, *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE activity_numbers SET number = $2 WHERE number = $1`, from, to)
			}
		}
		remove := func(from, to int64) func(context.Context, *db.Tx) error {
			return func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE activity_numbers SET organization_id = $3 WHERE number >= $1 AND number <= $2`, from, to, theirs)
			}
		}
		restore := func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(db.Exec(ctx, tx, `UPDATE activity_numbers SET organization_id = $1`, ours),
				db.Exec(ctx, tx, `UPDATE activity_chains SET number = $1`, n))
		}
		for _, one := range []struct {
			change, undo func(context.Context, *db.Tx) error
			want         string
		}{
			{remove(1, partEntries), restore, "entry 1 was removed"},
			{remove(partEntries+1, 2*partEntries), restore, fmt.Sprintf("entry %d was removed", partEntries+1)},
			{remove(2*partEntries, 2*partEntries), restore, fmt.Sprintf("entry %d was removed", 2*partEntries)},
			{remove(2*partEntries+1, n), restore, fmt.Sprintf("entry %d was removed", 2*partEntries+1)},
			{move(n, math.MaxInt64), move(math.MaxInt64, n), fmt.Sprintf("entry %d was removed", n)},
			{move(n, math.MinInt64+1), move(math.MinInt64+1, n), fmt.Sprintf("entry %d ", int64(math.MinInt64+1))},
			{func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE activity_chains SET number = $1`, math.MaxInt64)
			}, restore, fmt.Sprintf("entry %d was removed", n+1)},
		} {
			if err := d.InTx(t.Context(), one.change); err != nil {
				t.Fatal(err)
			}
			if v := verify(t, d, ours, Kept{}); !strings.HasPrefix(v.Wrong, one.want) {
				t.Errorf("%q, want %q", v.Wrong, one.want)
			}
			if err := d.InTx(t.Context(), one.undo); err != nil {
				t.Fatal(err)
			}
		}
		if v := verify(t, d, ours, Kept{}); v.Wrong != "" {
			t.Error(v.Wrong)
		}
	})
}
