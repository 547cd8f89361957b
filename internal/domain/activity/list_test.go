package activity

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

const ours, theirs = "01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"

var items = map[string][]string{ours: {"1", "2"}, theirs: {"3", "4"}}

// With any filter, the pages of a list together have all matching entries, the newest first.
func TestListOfAllScopes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		users := map[string]int64{}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, email := range []string{"ada@x.example", "ben@x.example"} {
				id, err := db.Insert(t.Context(), tx, `
					INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at)
					VALUES ($1, $1, $1, '', '', FALSE, $2)`, email, d.Now())
				if err != nil {
					return err
				}
				users[email] = id
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		names := []string{"", "ada@x.example", "ben@x.example"}
		var written []Entry
		for i := range 60 {
			of := []string{ours, ours, theirs}[i/2%3]
			written = append(written, Entry{
				OrganizationID: of, Scope: scopes[i*7/3%len(scopes)], ItemID: items[of][i%2],
				User: User{ID: users[names[i%5%3]], Email: names[i%5%3]}, RequestID: strings.Repeat("x", i),
				KeyID: []int64{0, 7, 8, 7, 8}[i%5], Verb: verbs[i*5%len(verbs)], CreatedAt: start.Add(time.Duration(i) * time.Second),
				Name: strings.Repeat("n", i%7*5000), // some are large
			})
		}
		for _, part := range [][]Entry{written[:40], written[40:]} {
			numberAll(t, d) // the first part: entries with and without a number are listed and counted
			err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				for _, e := range part {
					if err := Record(t.Context(), tx, e, e.CreatedAt); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range filters {
			var want []string
			for _, e := range slices.Backward(written) {
				if e.OrganizationID == f.OrganizationID && (f.Scopes == nil || slices.Contains(f.Scopes, e.Scope)) && (f.ItemID == "" || f.ItemID == e.ItemID) &&
					(f.UserEmail == "" || f.UserEmail == e.User.Email) && (f.UserID == 0 || f.UserID == e.User.ID) &&
					(f.KeyID == 0 || f.KeyID == e.KeyID) && (f.Verb == "" || f.Verb == e.Verb) &&
					(f.Since.IsZero() || !e.CreatedAt.Before(f.Since)) && (f.Until.IsZero() || e.CreatedAt.Before(f.Until)) {
					want = append(want, e.RequestID)
				}
			}
			var got []string
			for p := (page.Page{Limit: 7}); p.Offset < len(want); p.Offset += p.Limit {
				found, err := List(t.Context(), d, f, p)
				if err != nil || found.Count != len(want) {
					t.Fatalf("%+v: %d counted, want %d, %v", f, found.Count, len(want), err)
				}
				for _, e := range found.Items {
					got = append(got, e.RequestID)
				}
			}
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%+v: %q, want %q", f, got, want)
			}
		}
		notOurs := Filter{OrganizationID: ours, Scopes: []Scope{Plugin}, ItemID: items[theirs][0]}
		if found, err := List(t.Context(), d, notOurs, page.First); len(found.Items) > 0 || found.Count != 0 || err != nil {
			t.Errorf("of an app of others: %+v, %v", found, err)
		}
	})
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var filters = []Filter{
	{OrganizationID: ours},
	{OrganizationID: ours, UserEmail: "ada@x.example"},
	{OrganizationID: ours, UserID: 1},
	{OrganizationID: ours, ItemID: "1"},
	{OrganizationID: ours, ItemID: "1", UserEmail: "ben@x.example"},
	{OrganizationID: ours, Scopes: []Scope{Invite}},
	{OrganizationID: ours, Scopes: []Scope{Invite, Plugin, Key}},
	{OrganizationID: ours, Scopes: []Scope{Plugin}, UserEmail: "ada@x.example"},
	{OrganizationID: ours, Scopes: []Scope{Plugin}, ItemID: "2"},
	{OrganizationID: ours, KeyID: 7},
	{OrganizationID: ours, KeyID: 7, UserID: 1, Scopes: []Scope{Membership, Site}},
	{OrganizationID: ours, Verb: Created},
	{OrganizationID: ours, Since: start.Add(20 * time.Second)},
	{OrganizationID: ours, Until: start.Add(20 * time.Second), Scopes: []Scope{Plugin, Session}},
	{OrganizationID: ours, Since: start.Add(9 * time.Second), Until: start.Add(40 * time.Second), KeyID: 8},
}

// SQLite sorts only the few ids of each scope: otherwise it would read all entries. Filters by user, item, key or verb
// look at each entry in the index of scopes, and count without the entries themselves.
func TestListsAreInTheOrderOfAnIndex(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+t.TempDir()+"/foyer.db")
	indexes := map[index]string{ //nolint:exhaustive // byWait is asked by no filter
		byScope: "activity_scope (organization_id=? AND scope=?", byNumber: "activity_number (organization_id=? AND number>?)",
	}
	for _, f := range append(filters, Filter{OrganizationID: ours, After: 5}, Filter{OrganizationID: ours, After: 5, Scopes: []Scope{Invite, Key}, Verb: Created}) {
		query, args := f.list(page.First)
		steps := dbtest.Explain(t, d, query, args...)
		if !slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, indexes[f.index()]) }) {
			t.Errorf("%+v is not read by %s: %+v", f, indexes[f.index()], steps)
		}
		timed := !f.Since.IsZero() || !f.Until.IsZero()
		if timed && !slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "created_at") }) {
			t.Errorf("%+v is not read by its time: %+v", f, steps)
		}
		for _, s := range steps {
			if strings.HasPrefix(s, "SCAN a") || f.index() != byScope && strings.Contains(s, "TEMP B-TREE") {
				t.Errorf("%+v: %q in %+v", f, s, steps)
			}
		}
		if last := steps[len(steps)-1]; strings.Contains(last, "TEMP B-TREE") {
			t.Errorf("%+v: whole entries are sorted: %+v", f, steps)
		}
		if condition, args := f.where(byScope, f.scopes()); f.After == 0 {
			if steps := dbtest.Explain(t, d, `SELECT COUNT(*) FROM activity a`+condition, args...); !strings.Contains(steps[0], "COVERING INDEX activity_scope") {
				t.Errorf("%+v is counted by %+v", f, steps)
			}
		}
		query, args = f.part(1, 501)
		if steps := dbtest.Explain(t, d, query, args...); !strings.Contains(steps[0], "activity_number (organization_id=? AND number>? AND number<?)") || slices.ContainsFunc(steps, func(s string) bool { return strings.Contains(s, "TEMP") }) {
			t.Errorf("the stream of %+v: %+v", f, steps)
		}
		query, args = f.waiting()
		if steps := dbtest.Explain(t, d, query, args...); !strings.HasPrefix(steps[0], "SEARCH a USING INTEGER PRIMARY KEY") {
			t.Errorf("what waits of %+v: %+v", f, steps)
		}
	}
}

// A stream goes on after a part in which no entry matches the filter.
func TestStreamPassesOverWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const n = 2*partEntries + 5
		record(t, d, ours, n)
		numberAll(t, d)
		for _, item := range []int{0, partEntries - 1, partEntries, n - 1} {
			var found []int64
			err := Stream(t.Context(), d, Filter{OrganizationID: ours, ItemID: strconv.Itoa(item)}, func(part []Stored) error {
				for _, e := range part {
					found = append(found, e.Number)
				}
				return nil
			})
			if err != nil || !slices.Equal(found, []int64{int64(item + 1)}) {
				t.Errorf("item %d: entries %d, %v", item, found, err)
			}
		}
	})
}

// Entries that wait for a number are found by their ids, even while PostgreSQL does not know yet how large its tables
// have become.
func TestWaitingAreFoundByTheirIDs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		err := d.InTx(t.Context(), manyNumbers)
		if err != nil {
			t.Fatal(err)
		}
		query, args := selectIDs([]int64{7, 8, 9})
		plan := strings.Join(dbtest.Explain(t, d, query, args...), "\n")
		if strings.Contains(plan, "Seq Scan on activity_numbers") || strings.Contains(plan, "SCAN n") || strings.Contains(plan, "SCAN a") {
			t.Errorf("they are not found by their ids:\n%s", plan)
		}
	})
}

// An entry is found with its data by its number, too.
func TestOneIsFoundByItsNumber(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(manyNumbers(ctx, tx), db.Exec(ctx, tx, `
				INSERT INTO activity (organization_id, scope, item_id, activity, name, changes, request_id, created_at, data)
				SELECT organization_id, 'Plugin', '7', 'updated', 'App', '[]', '', $1, '{}' FROM activity_numbers`, d.Now()))
		})
		if err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(dbtest.Explain(t, d, selectOneWithData, ours, 7), "\n")
		for _, index := range []string{"SEARCH n USING INDEX activity_number (organization_id=? AND number=?)", "SEARCH a USING INTEGER PRIMARY KEY"} {
			if dbtest.IsSQLite(t, d) && !strings.Contains(plan, index) {
				t.Errorf("without %q:\n%s", index, plan)
			}
		}
		if !dbtest.IsSQLite(t, d) && (!strings.Contains(plan, "activity_pkey") || !strings.Contains(plan, "number = '7'") || strings.Contains(plan, "Seq Scan on activity")) {
			t.Errorf("it is not found by its number:\n%s", plan)
		}
	})
}

// manyNumbers stores the numbers of 20,000 entries.
func manyNumbers(ctx context.Context, tx *db.Tx) error {
	return db.Exec(ctx, tx, `
		WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20000)
		INSERT INTO activity_numbers (activity_id, organization_id, number, hash) SELECT n, $1, n, 'a hash' FROM s`, ours)
}

// A stream releases the memory of each part after it is written, however large all parts together are.
func TestStreamLeavesRoom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const entries, size = 6, partBytes
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for range entries {
				e := Entry{OrganizationID: ours, Scope: Plugin, Verb: Updated, Changes: []Change{{Field: "description", After: strings.Repeat("x", size)}}}
				if err := Record(ctx, tx, e, d.Now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		numberAll(t, d)
		limit := inflight.New(64 << 20)
		parts := 0
		err = Stream(inflight.With(t.Context(), limit.Begin(nil)), d, Filter{OrganizationID: ours}, func([]Stored) error {
			if parts++; limit.Held() > 3*size {
				t.Errorf("part %d: %d bytes are held", parts, limit.Held())
			}
			return nil
		})
		if err != nil || parts < entries/2 || limit.Held() != 0 {
			t.Errorf("%d parts, then %d bytes are held, %v", parts, limit.Held(), err)
		}
	})
}
