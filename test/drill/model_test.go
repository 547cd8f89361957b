//go:build drill

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"foyer/client"
)

// entry is one of the activity, as `foyer activity` tells it.
type entry struct {
	ID        int64  `json:"id"`
	Activity  string `json:"activity"`
	Scope     string `json:"scope"`
	ItemID    string `json:"item_id"`
	RequestID string `json:"request_id"`
}

// state is what a server has, or should have.
type state struct {
	apps    map[string]string // descriptions by id
	invites map[string]string // addresses by id
	invited map[string]bool   // addresses that ever were
}

// check returns what is wrong at the end of a drill. Mails may have been sent again as often
// as servers were killed.
func (f *fleet) check(t *testing.T, l *load, again int) (wrong []string) {
	t.Helper()
	entries := f.activity(t)
	want, wrong := replay(l.requests, entries)
	got, counts := f.state(t)
	for _, pair := range []struct {
		what       string
		want, have map[string]string
		counted    int
	}{{"app", want.apps, got.apps, counts[0]}, {"invite", want.invites, got.invites, counts[1]}} {
		if pair.counted != len(pair.want) {
			wrong = append(wrong, fmt.Sprintf("%d %ss are counted, there are %d", pair.counted, pair.what, len(pair.want)))
		}
		for id, text := range pair.want {
			if have, ok := pair.have[id]; !ok || have != text {
				wrong = append(wrong, fmt.Sprintf("%s %s is %q (there: %t), want %q", pair.what, id, have, ok, text))
			}
		}
		for id := range pair.have {
			if _, ok := pair.want[id]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s %s should not be there", pair.what, id))
			}
		}
	}
	return append(wrong, f.checkMails(t, want, again)...)
}

// replay does again what the activity says was done, and holds it against what clients know.
func replay(requests []*request, entries []entry) (s state, wrong []string) {
	s = state{map[string]string{}, map[string]string{}, map[string]bool{}}
	asked, happened := map[string]*request{}, map[string]int{}
	for _, r := range requests {
		asked[r.id] = r
	}
	for _, e := range entries {
		r := asked[e.RequestID]
		if r == nil {
			continue // what the first start made
		}
		happened[r.id]++
		switch r.kind {
		case "create":
			s.apps[e.ItemID] = ""
		case "describe":
			s.apps[e.ItemID] = r.text
		case "delete":
			delete(s.apps, e.ItemID)
		case "invite":
			s.invites[e.ItemID] = r.text
			s.invited[r.text] = true
		case "withdraw":
			delete(s.invites, e.ItemID)
		}
		if r.item != "" && r.item != e.ItemID {
			wrong = append(wrong, fmt.Sprintf("%s changed %s, not %s", r.id, e.ItemID, r.item))
		}
	}
	for id, r := range asked {
		switch n := happened[id]; {
		case r.verdict == done && n != 1:
			wrong = append(wrong, fmt.Sprintf("%s %s was acknowledged, and happened %d times", id, r.kind, n))
		case r.verdict == refused && n != 0:
			wrong = append(wrong, fmt.Sprintf("%s %s was refused with %d, and happened", id, r.kind, r.status))
		case n > 1:
			wrong = append(wrong, fmt.Sprintf("%s %s happened %d times", id, r.kind, n))
		}
	}
	return s, wrong
}

// activity is all there is, the oldest first.
func (f *fleet) activity(t *testing.T) []entry {
	t.Helper()
	var all []entry
	for {
		var some []entry
		text := f.command(t, "--json", "activity", "--limit=1000", "--offset="+strconv.Itoa(len(all)))
		if err := json.Unmarshal(text, &some); err != nil {
			t.Fatalf("%v: %.300s", err, text)
		}
		all = append(all, some...)
		if len(some) < 1000 {
			slices.Reverse(all)
			return all
		}
	}
}

func (f *fleet) state(t *testing.T) (s state, counts [2]int) {
	t.Helper()
	s = state{map[string]string{}, map[string]string{}, map[string]bool{}}
	c, err := client.New(f.url(0), f.key)
	if err != nil {
		t.Fatal(err)
	}
	o := c.Organization(client.Current)
	for app, err := range o.AllApps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		s.apps[strconv.FormatInt(app.ID, 10)] = app.Description
	}
	for i, err := range o.AllInvites(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		s.invites[i.ID] = i.TargetEmail
	}
	apps, err := o.ListApps(t.Context(), client.Range{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	invites, err := o.ListInvites(t.Context(), client.Range{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s, [2]int{apps.Count, invites.Count}
}

// checkMails waits until each pending invite was mailed, and counts how often.
func (f *fleet) checkMails(t *testing.T, want state, again int) (wrong []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a lease and a pause
	defer cancel()
	for seen := 0; ; {
		sent := map[string]int{}
		for _, m := range f.smtp.Mails() {
			sent[m.To[0]]++
		}
		missing := 0
		for _, address := range want.invites {
			if sent[address] == 0 {
				missing++
			}
		}
		if missing > 0 {
			mails, err := f.smtp.Wait(ctx, seen+1)
			if err == nil {
				seen = len(mails)
				continue
			}
			wrong = append(wrong, fmt.Sprintf("%d invites were not mailed", missing))
		}
		extra := 0
		for address, n := range sent {
			extra += n - 1
			if !want.invited[address] {
				wrong = append(wrong, fmt.Sprintf("%s was mailed, and is not invited", address))
			}
		}
		if extra > again {
			wrong = append(wrong, fmt.Sprintf("%d mails were sent again, at most %d may be", extra, again))
		}
		return wrong
	}
}
