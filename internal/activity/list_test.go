package activity

import (
	"slices"
	"strings"
	"testing"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
	"foyer/internal/page"
)

const ours, theirs = "01890000-0000-7000-8000-000000000001", "01890000-0000-7000-8000-000000000002"

var items = map[string][]string{ours: {"1", "2"}, theirs: {"3", "4"}}

// Whatever a list is narrowed down to, its pages make up what was written, the
// newest first.
func TestListOfAllScopes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		users := map[string]int64{}
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
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
				OrganizationID: of, Scope: scopes[i*7/3%3], ItemID: items[of][i%2],
				User: User{ID: users[names[i%5%3]], Email: names[i%5%3]}, RequestID: strings.Repeat("x", i),
				Name: strings.Repeat("n", i%7*5000), // some are added before the commit
			})
		}
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			for _, e := range written {
				if err := Record(t.Context(), tx, e, d.Now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range filters {
			var want []string
			for _, e := range slices.Backward(written) {
				if e.OrganizationID == f.OrganizationID && (f.Scope == "" || f.Scope == e.Scope) && (f.ItemID == "" || f.ItemID == e.ItemID) &&
					(f.UserEmail == "" || f.UserEmail == e.User.Email) {
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
		notOurs := Filter{OrganizationID: ours, Scope: Plugin, ItemID: items[theirs][0]}
		if found, err := List(t.Context(), d, notOurs, page.First); len(found.Items) > 0 || found.Count != 0 || err != nil {
			t.Errorf("of an app of others: %+v, %v", found, err)
		}
	})
}

var filters = []Filter{
	{OrganizationID: ours},
	{OrganizationID: ours, UserEmail: "ada@x.example"},
	{OrganizationID: ours, ItemID: "1"},
	{OrganizationID: ours, ItemID: "1", UserEmail: "ben@x.example"},
	{OrganizationID: ours, Scope: Invite},
	{OrganizationID: ours, Scope: Plugin, UserEmail: "ada@x.example"},
	{OrganizationID: ours, Scope: Plugin, ItemID: "2"},
}

// Nothing is sorted but the few ids that each scope offers: else all entries would be
// read. The history of one app is in an index of its own.
func TestListsAreInTheOrderOfAnIndex(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite:"+t.TempDir()+"/foyer.db")
	type step struct {
		id, parent, unused int
		detail             string
	}
	for _, f := range filters {
		query, args := f.list(page.First)
		plan, err := db.All(t.Context(), d, func(s *step) []any { return []any{&s.id, &s.parent, &s.unused, &s.detail} },
			`EXPLAIN QUERY PLAN `+query, args...)
		if err != nil || len(plan) == 0 {
			t.Fatal(plan, err)
		}
		if ofApp := f.Scope == Plugin && f.ItemID != ""; ofApp != strings.Contains(plan[0].detail, "INDEX activity_app (item_id=?)") {
			t.Errorf("%+v: %+v", f, plan)
		}
		ofIDs := map[int]bool{}
		for _, s := range plan {
			ofIDs[s.parent] = ofIDs[s.parent] || s.detail == "SCAN newest"
			if (strings.HasPrefix(s.detail, "SCAN") || strings.Contains(s.detail, "TEMP B-TREE")) && !ofIDs[s.parent] {
				t.Errorf("%+v: %q in %+v", f, s.detail, plan)
			}
		}
	}
}
