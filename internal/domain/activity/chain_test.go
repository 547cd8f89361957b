package activity

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

var alterations = flag.Int("alterations", 200, "how many random alterations TestVerifyNamesTheFirst makes on each engine")

// record writes n entries of an organization, each in a transaction of its own.
func record(t *testing.T, d *db.DB, organizationID string, n int) {
	t.Helper()
	for i := range n {
		s := scopes[i%len(scopes)]
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return Record(ctx, tx, Entry{
				OrganizationID: organizationID, Scope: s, ItemID: strconv.Itoa(i), Verb: Updated, User: User{ID: int64(i % 3)}, KeyID: int64(i % 2),
				Name: fmt.Sprintf("%d@x.example", i), Changes: []Change{Changed("level", 1, i+2)}, RequestID: "request", Data: dataOf(i),
			}, d.Now())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// dataOf returns the data of an entry; every third has none.
func dataOf(i int) string {
	if i%3 == 0 {
		return ""
	}
	return fmt.Sprintf(`{"id": %d}`, i)
}

func numberAll(t *testing.T, d *db.DB) {
	t.Helper()
	if err := NumberAll(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func verify(t *testing.T, d *db.DB, organizationID string, kept Kept) Verified {
	t.Helper()
	v, err := Verify(t.Context(), d, organizationID, kept)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Each organization has a chain of its own, which grows with its entries.
func TestChain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if v := verify(t, d, ours, Kept{}); v.Wrong != "" || v.Head.Number != 0 || v.Head.Hash != strings.Repeat("0", 64) {
			t.Errorf("of nothing: %+v", v)
		}
		record(t, d, ours, chainBatch+5)
		record(t, d, theirs, 3)
		numberAll(t, d)
		first := verify(t, d, ours, Kept{})
		record(t, d, ours, 2)
		if v := verify(t, d, ours, Kept{}); v.Entries != chainBatch+5 {
			t.Errorf("what has no number yet is looked at: %+v", v)
		}
		numberAll(t, d)
		kept := Kept{first.Head.Number, first.Head.Hash}
		for id, want := range map[string]int64{ours: chainBatch + 7, theirs: 3} {
			v := verify(t, d, id, Kept{})
			head, err := HeadOf(t.Context(), d, id)
			if v.Wrong != "" || v.Entries != want || v.Head != head || head.Number != want || head.At.IsZero() || err != nil {
				t.Errorf("%s: %+v, head %+v, %v", id, v, head, err)
			}
		}
		if v := verify(t, d, ours, kept); v.Wrong != "" {
			t.Error(v.Wrong)
		}
		kept.Hash = strings.Repeat("f", 64)
		if v := verify(t, d, ours, kept); !strings.HasPrefix(v.Wrong, fmt.Sprintf("entry %d ", kept.Number)) {
			t.Errorf("with another head: %q", v.Wrong)
		}
		if v := verify(t, d, ours, Kept{chainBatch + 8, kept.Hash}); v.Wrong != fmt.Sprintf("entry %d was removed", chainBatch+8) {
			t.Errorf("with a head of more: %q", v.Wrong)
		}
	})
}

// alters change the entry with the number k, or its place in the chain; last is the highest number.
var alters = []func(k, last int) []string{
	func(k, _ int) []string { return []string{removed(k)} },
	func(k, _ int) []string {
		return []string{fmt.Sprintf(`DELETE FROM activity_numbers WHERE number = %d`, k)}
	},
	func(k, last int) []string { // swapped with a later one
		other := k + 1 + rand.IntN(max(1, last-k))
		if other > last {
			return []string{removed(k)}
		}
		return []string{
			fmt.Sprintf(`UPDATE activity_numbers SET number = -1 WHERE number = %d`, k),
			fmt.Sprintf(`UPDATE activity_numbers SET number = %d WHERE number = %d`, k, other),
			fmt.Sprintf(`UPDATE activity_numbers SET number = %d WHERE number = -1`, other),
		}
	},
	func(k, _ int) []string { // one put in before it
		return []string{
			fmt.Sprintf(`UPDATE activity_numbers SET number = -number WHERE number >= %d`, k),
			`UPDATE activity_numbers SET number = 1 - number WHERE number < 0`,
			fmt.Sprintf(`INSERT INTO activity (id, organization_id, scope, item_id, activity, name, changes, request_id, created_at)
				SELECT 1000, a.organization_id, scope, item_id, activity, name, changes, request_id, created_at
				FROM activity a JOIN activity_numbers n ON n.activity_id = a.id WHERE n.number = %d`, k+1),
			fmt.Sprintf(`INSERT INTO activity_numbers SELECT 1000, organization_id, %d, hash FROM activity_numbers WHERE number = %d`, k, k+1),
		}
	},
}

func removed(k int) string {
	return fmt.Sprintf(`DELETE FROM activity WHERE id = (SELECT activity_id FROM activity_numbers WHERE number = %d)`, k)
}

// columnsAltered has every column of the entries and of their numbers, as TestVerifyNamesTheFirst checks, and the value
// it is set to.
var columnsAltered = map[string]map[string]string{
	"activity": {
		"id": "id + 1000", "organization_id": "'" + theirs + "'", "scope": "'Webhook2'", "item_id": "item_id || ' '", "activity": "'deleted'",
		"user_id": "COALESCE(user_id, -1) + 1", "name": "name || 'x'", "changes": "'[ ]'", "request_id": "'q'", "created_at": "$1",
		"key_id": "COALESCE(key_id, -1) + 1", "session_id": "0", "address": "'192.0.2.1'",
		"name_hash": "name_hash || '0'", "changes_hash": "changes_hash || '0'", "salt": "salt || 'x'", "data": `'{"forged": true}'`, "data_hash": "data_hash || '0'",
		"data_erased": "NOT data_erased",
	},
	"activity_numbers": {
		"activity_id": "activity_id + 1000", "organization_id": "'" + theirs + "'", "number": "number + 1000", "hash": "'" + strings.Repeat("0", 64) + "'",
	},
}

// Verify names the first entry that is not as it was made, whatever somebody has done to it in the database.
func TestVerifyNamesTheFirst(t *testing.T) {
	t.Parallel()
	var updates []string
	for table, columns := range columnsAltered {
		key := map[string]string{"activity": "id", "activity_numbers": "activity_id"}[table]
		for name, value := range columns {
			updates = append(updates, fmt.Sprintf(`UPDATE %s SET %s = %s WHERE %s = (SELECT activity_id FROM activity_numbers WHERE number = %%d)`, table, name, value, key))
		}
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const last = 30
		record(t, d, ours, last)
		numberAll(t, d)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return clearData(ctx, tx, ours, last/2) })
		if err != nil {
			t.Fatal(err)
		}
		var put []string
		for table, altered := range columnsAltered {
			if dbtest.IsSQLite(t, d) {
				columns, err := db.All[string](t.Context(), d, nil, `SELECT name FROM pragma_table_info('`+table+`') ORDER BY 1`)
				if names := slices.Sorted(maps.Keys(altered)); err != nil || !slices.Equal(columns, names) {
					t.Errorf("the columns of %s are %q, and those altered %q, %v", table, columns, names, err)
				}
			}
			dbtest.Exec(t, d, `CREATE TABLE kept_`+table+` AS SELECT * FROM `+table)
			put = append(put, `DELETE FROM `+table, `INSERT INTO `+table+` SELECT * FROM kept_`+table)
		}
		for trial := range *alterations {
			k := 1 + rand.IntN(last)
			var done []string
			if which := trial % (len(updates) + len(alters)); which < len(updates) {
				done = []string{fmt.Sprintf(updates[which], k)}
			} else {
				done = alters[which-len(updates)](k, last)
			}
			for _, query := range done {
				var args []any
				if strings.Contains(query, "$1") {
					args = []any{d.Now()}
				}
				dbtest.Exec(t, d, query, args...)
			}
			if v := verify(t, d, ours, Kept{}); !strings.HasPrefix(v.Wrong, fmt.Sprintf("entry %d ", k)) {
				t.Errorf("%q: found %q, not entry %d", done, v.Wrong, k)
			}
			for _, query := range put {
				dbtest.Exec(t, d, query)
			}
		}
		if v := verify(t, d, ours, Kept{}); v.Wrong != "" {
			t.Error(v.Wrong)
		}
		record(t, d, ours, 1)
		dbtest.Exec(t, d, `DELETE FROM activity_unnumbered`)
		if v := verify(t, d, ours, Kept{}); !strings.HasPrefix(v.Wrong, "the entry with the id ") {
			t.Errorf("an entry without a number that waits for none: %q", v.Wrong)
		}
	})
}

// An entry that is committed after others with higher ids gets a number after them.
func TestNumbersOfALateCommit(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.Postgres(t)) // SQLite has one transaction at a time
	written, goOn, late := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		late <- d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			err := Record(ctx, tx, Entry{OrganizationID: ours, Scope: Plugin, Verb: Installed, Name: "late"}, d.Now())
			if err == nil {
				_, err = db.One[int](ctx, tx, nil, `SELECT 1`) // it has its id by then
			}
			close(written)
			<-goOn
			return err
		})
	}()
	<-written
	record(t, d, ours, 2)
	numberAll(t, d)
	close(goOn)
	if err := <-late; err != nil {
		t.Fatal(err)
	}
	numberAll(t, d)
	found, err := List(t.Context(), d, Filter{OrganizationID: ours, After: 2}, page.First)
	if err != nil || len(found.Items) != 1 || found.Items[0].Name != "late" || found.Items[0].Number != 3 || found.Items[0].ID != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if v := verify(t, d, ours, Kept{}); v.Wrong != "" || v.Entries != 3 {
		t.Errorf("%+v", v)
	}
}

// An entry has its number within 2 seconds of its commit.
func TestNumbersComeInTime(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		synctest.Test(t, func(t *testing.T) { // its clock stands still while the database is at work
			d := dbtest.Open(t, url)
			ctx, stop := context.WithCancel(t.Context())
			var chaining sync.WaitGroup
			chaining.Go(func() { Chain(ctx, d, func(err error) { t.Error(err) }) })
			defer chaining.Wait()
			defer stop()
			for range 3 {
				record(t, d, ours, 1)
				began := time.Now()
				for waits := true; waits; {
					time.Sleep(10 * time.Millisecond)
					var err error
					if waits, err = anyUnnumbered(t.Context(), d); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); waits && took > 2*time.Second {
						t.Fatalf("an entry has no number after %s", took)
					}
				}
			}
		})
	})
}

// Three servers that number entries, with 16 clients, make one chain for each organization.
func TestChainOfSeveralServers(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	var servers []*db.DB
	for range 3 {
		servers = append(servers, dbtest.Open(t, url))
	}
	ctx, stop := context.WithCancel(t.Context())
	var chaining, writing sync.WaitGroup
	for _, d := range servers {
		chaining.Go(func() { Chain(ctx, d, func(err error) { t.Error(err) }) })
	}
	const clients, each = 16, 25
	for i := range clients {
		writing.Go(func() { record(t, servers[i%len(servers)], []string{ours, theirs}[i%2], each) })
	}
	writing.Wait()
	stop()
	chaining.Wait()
	numberAll(t, servers[0])
	for _, id := range []string{ours, theirs} {
		if v := verify(t, servers[1], id, Kept{}); v.Wrong != "" || v.Entries != clients/2*each || v.Head.Number != v.Entries {
			t.Errorf("%s: %+v", id, v)
		}
	}
}

// A stream has every entry once, in the order of their numbers; those without one come last.
func TestStream(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, ours, partEntries+20)
		record(t, d, theirs, 5)
		numberAll(t, d)
		record(t, d, ours, 3)
		const all = partEntries + 23
		for after, f := range map[int]Filter{
			0: {OrganizationID: ours}, 4: {OrganizationID: ours, After: 4}, partEntries + 19: {OrganizationID: ours, After: partEntries + 19},
			partEntries + 20: {OrganizationID: ours, After: partEntries + 20},
		} {
			var got, want []int64
			for n := after + 1; n <= all; n++ {
				want = append(want, int64(n))
			}
			err := Stream(t.Context(), d, f, func(part []Stored) error {
				for _, e := range part {
					if (e.Number == 0) != (e.ID > all+2) || e.Number != 0 && len(e.Hash) != 64 {
						t.Errorf("%+v", e)
					}
					if e.Number == 0 {
						e.Number = e.ID - 5
					}
					got = append(got, e.Number)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("after %d: got %v, want %v, %v", after, got, want, err)
			}
		}
		few := 0
		err := Stream(t.Context(), d, Filter{OrganizationID: ours, Scopes: []Scope{Key}, UserID: 2}, func(part []Stored) error {
			for _, e := range part {
				if few++; e.Scope != Key || e.User.ID != 2 {
					t.Errorf("%+v", e)
				}
			}
			return nil
		})
		if err != nil || few == 0 {
			t.Errorf("%d, %v", few, err)
		}
	})
}

// An address in capitals is found in any locale, also in a Turkish one, where I is not the capital of i.
func TestEraseInTurkish(t *testing.T) {
	t.Parallel()
	d := dbtest.InTurkish(t, "activity", "data")
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		return errors.Join(
			Record(ctx, tx, Entry{OrganizationID: ours, Scope: Webhook, Verb: Created, Data: `{"description":"INFO_1@IX.EXAMPLE"}`}, d.Now()),
			Record(ctx, tx, Entry{OrganizationID: ours, Scope: Webhook, Verb: Created, Data: `{"description":"INFO_2@IX.EXAMPLE"}`}, d.Now()),
			Erase(ctx, tx, Person{UUID: "01890000-0000-7000-8000-00000000000a", Emails: []string{"info_1@ix.example"}}))
	})
	left, failed := db.All[string](t.Context(), d, nil, `SELECT data FROM activity WHERE data IS NOT NULL`)
	if err != nil || failed != nil || len(left) != 1 || !strings.Contains(left[0], "INFO_2") {
		t.Errorf("%q, %v, %v", left, err, failed)
	}
}

// No entry shows what was erased, and the chain is as before.
func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const uuid, email, former, other = "01890000-0000-7000-8000-00000000000a", "ada@x.example", "lovelace@x.example", "ben@x.example"
		entries := []Entry{
			{Scope: Invite, ItemID: "1", Verb: Created, Name: email},
			{Scope: Membership, ItemID: uuid, Verb: Added, Name: former},
			{Scope: Membership, ItemID: "another", Verb: Added, Name: other},
			{Scope: Key, ItemID: "1", Verb: Created, Name: former, User: User{ID: 7}},
			{Scope: Plugin, ItemID: "1", Verb: Installed, Name: "App", User: User{ID: 7}},
			{Scope: Invite, ItemID: "2", Verb: Created, Name: other},
			{Scope: Session, ItemID: "2", Verb: Created, Name: email, User: User{ID: 7}},
			{Scope: Membership, ItemID: uuid, Verb: Updated, Name: email, Changes: []Change{Changed("email", former, email)}},
			{Scope: Membership, ItemID: uuid, Verb: Updated, Name: email, Changes: []Change{Changed("level", 1, 8)}, Data: `{"level":8}`},
			{Scope: Key, ItemID: "3", Verb: Revoked, Name: other, User: User{ID: 7}},
			{Scope: Invite, ItemID: "4", Verb: Created, Name: "jo" + email, Data: `{"target_email":"jo` + email + `"}`},
			{Scope: Webhook, ItemID: "5", Verb: Created, Name: "hook", Data: `{"description":"ask\n'Ada@X.example'."}`},
		}
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, e := range entries {
				e.OrganizationID = ours
				if err := Record(ctx, tx, e, d.Now()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		err = d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if had, err := Addresses(ctx, tx, uuid); err != nil || !slices.Equal(had, []string{email, former}) {
				t.Errorf("%q, %v", had, err)
			}
			return Erase(ctx, tx, Person{UserID: 7, UUID: uuid, Emails: []string{email, former}})
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := List(t.Context(), d, Filter{OrganizationID: ours}, page.First)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(found.Items)
		for i, want := range []string{"", "", other, "", "App", other, "", "", "", other, "jo" + email, "hook"} {
			if e := found.Items[i]; e.Name != want || e.Erased != (want == "" || want == "hook") {
				t.Errorf("%d: %+v, want the name %q", i, e, want)
			}
		}
		if left, err := db.All[string](t.Context(), d, nil, `SELECT data FROM activity WHERE data IS NOT NULL`); err != nil || !slices.Equal(left, []string{entries[10].Data}) {
			t.Errorf("data left: %q, %v", left, err)
		}
		if changed := found.Items[7].Changes; changed != noChanges {
			t.Errorf("the addresses are left: %s", changed)
		}
		if changed := found.Items[8].Changes; !strings.Contains(changed, "level") {
			t.Errorf("the level is gone: %s", changed)
		}
		numberAll(t, d)
		if v := verify(t, d, ours, Kept{}); v.Wrong != "" || v.Entries != 12 {
			t.Errorf("%+v", v)
		}
	})
}

// New entries get their numbers whatever somebody removes from the database or puts into it, and Verify names what it
// can see.
func TestNumbersAfterMeddling(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      []string // run after three entries that have a number, and two that wait
		between string   // run after the next entries are recorded
		wrong   string   // what Verify finds contains this
	}{
		"the last that has a number":   {[]string{`DELETE FROM activity WHERE id >= 3`, `DELETE FROM activity_unnumbered`}, "", "entry 3 "},
		"one that waits":               {[]string{`DELETE FROM activity WHERE id = 5`}, "", ""},
		"all that wait":                {[]string{`DELETE FROM activity WHERE id > 3`}, "", ""},
		"the number of another chain":  {[]string{`UPDATE activity_numbers SET organization_id = '` + theirs + `' WHERE number = 3`}, "", "entry 3 was removed"},
		"an entry in no chain":         {nil, `UPDATE activity_numbers SET organization_id = 'nobody', number = 7 WHERE activity_id = (SELECT MAX(id) FROM activity)`, "was removed"},
		"a number before its time":     {[]string{`INSERT INTO activity_numbers VALUES (900, '` + ours + `', 4, 'forged')`}, "", "entry 4 was removed"},
		"one that waits for a second":  {[]string{`INSERT INTO activity_unnumbered VALUES (2, '` + ours + `', 'Plugin')`}, "", ""},
		"a text with a part of a salt": {[]string{`UPDATE activity SET salt = salt || '1@', name = 'x.example' WHERE name = '1@x.example'`}, "", "entry 2 (id 2) was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				do := func(queries ...string) {
					t.Helper()
					for _, query := range queries {
						dbtest.Exec(t, d, query)
					}
				}
				record(t, d, ours, 3)
				numberAll(t, d)
				record(t, d, ours, 2)
				do(c.do...)
				record(t, d, ours, 2)
				numberAll(t, d)
				if c.between != "" {
					do(c.between)
				}
				if v := verify(t, d, ours, Kept{}); (v.Wrong == "") != (c.wrong == "") || !strings.Contains(v.Wrong, c.wrong) {
					t.Errorf("found %q, want %q", v.Wrong, c.wrong)
				}
				if waiting, err := anyUnnumbered(t.Context(), d); waiting || err != nil {
					t.Errorf("some still wait: %t, %v", waiting, err)
				}
			})
		})
	}
}

// Verify does not report entries that a server drops while they are read.
func TestDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	w := walk{last: 1000, hash: "a", head: Head{Number: 1500, Hash: "b", dropped: 1500, droppedHash: "b"}}
	w.skipDropped()
	if wrong := w.end(); wrong != "" {
		t.Error(wrong)
	}
	h, e := Head{Hash: beginning}, chained{}
	h.append(&e)
	w = walk{hash: beginning, kept: Kept{h.Number, h.Hash}}
	if wrong := w.step(&e); wrong != "" {
		t.Error(wrong)
	}
	w.head = Head{Number: 2, Hash: "b", dropped: 2, droppedHash: "b"}
	w.skipDropped()
	if wrong := w.end(); wrong != "" {
		t.Errorf("the kept head was looked at before it was dropped: %s", wrong)
	}
}

// A kept head proves nothing once its entry is no longer stored, unless that was the last one dropped: somebody may
// have dropped it and made the rest anew.
func TestKeptHeadIsDropped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		head := func() Kept {
			t.Helper()
			numberAll(t, d)
			h, err := HeadOf(t.Context(), d, ours)
			if err != nil {
				t.Fatal(err)
			}
			return Kept{h.Number, h.Hash}
		}
		record(t, d, ours, 2)
		second := head()
		record(t, d, ours, 1)
		third := head()
		if err := Tidy(t.Context(), d, d.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // with nothing stored, and with one entry
			for kept, wrong := range map[Kept]string{
				{}: "", third: "", head(): "",
				second:                         "entry 2, whose hash was kept, cannot be checked: the first that is still stored is 4",
				{1, strings.Repeat("f", 64)}:   "entry 1, whose hash was kept, cannot be checked",
				{3, strings.Repeat("f", 64)}:   "entry 3, which is no longer kept, is not the one",
				{100, strings.Repeat("f", 64)}: "was removed",
			} {
				if v := verify(t, d, ours, kept); (v.Wrong == "") != (wrong == "") || !strings.Contains(v.Wrong, wrong) {
					t.Errorf("with the head %d: %q, want %q", kept.Number, v.Wrong, wrong)
				}
			}
			record(t, d, ours, 1)
		}
	})
}

// Tidy removes old entries even if one was removed by hand, and never those of another organization.
func TestTidyAfterMeddling(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, ours, 5)
		numberAll(t, d)
		record(t, d, theirs, 1)
		for _, query := range []string{`DELETE FROM activity WHERE id = 1`, `UPDATE activity_numbers SET activity_id = 6 WHERE number = 3`} {
			dbtest.Exec(t, d, query)
		}
		if err := Tidy(t.Context(), d, d.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if left, err := db.All[int64](t.Context(), d, nil, `SELECT id FROM activity ORDER BY id`); err != nil || !slices.Equal(left, []int64{3, 6}) {
			t.Errorf("left are %v, %v, not what has no number and what is theirs", left, err)
		}
	})
}

// Dropping data waits for nobody in an organization that has nothing to drop.
func TestDropDataOfNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		record(t, d, ours, 3)
		numberAll(t, d)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			lockStored(tx)
			if _, err := HeadOf(ctx, tx, ours); err != nil {
				return err
			}
			outside, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := dropData(outside, d, ours, d.Now().Add(-time.Hour))
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
