//go:build drill

package drill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	api "foyer/client"
)

// entry is an entry of the activity, in the JSON of `foyer admin activity`.
type entry struct {
	Scope     string `json:"scope"`
	ItemID    string `json:"item_id"`
	Verb      string `json:"activity"`
	RequestID string `json:"request_id"`
}

// state is what a server has, or should have: what clients set, by kind and id.
type state map[string]map[string]string

func newState() state { return state{"app": {}, "invite": {}, "member": {}, "key": {}} }

// check returns the faults at the end of a drill. Some mails may have been sent again.
func (f *fleet) check(t *testing.T, l *load, again int) (wrong []string) {
	t.Helper()
	want, invited, wrong := f.compare(t, l.requests)
	return slices.Concat(l.wrong, wrong, f.checkMails(want["invite"], invited, again))
}

// compare compares a server's state with what its activity says was done, and that with what clients know. It returns
// what should be there, and everybody who was ever invited.
func (f *fleet) compare(t *testing.T, requests []*request) (want state, invited map[string]bool, wrong []string) {
	t.Helper()
	want, invited, wrong = replay(requests, f.activity(t))
	got, counts := f.state(t)
	for what := range want {
		if counts[what] != len(want[what]) {
			wrong = append(wrong, fmt.Sprintf("%d %ss are counted, there are %d", counts[what], what, len(want[what])))
		}
		for id, text := range want[what] {
			if have, ok := got[what][id]; !ok || have != text {
				wrong = append(wrong, fmt.Sprintf("%s %s is %q (there: %t), want %q", what, id, have, ok, text))
			}
		}
		for id := range got[what] {
			if _, ok := want[what][id]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s %s should not be there", what, id))
			}
		}
	}
	return want, invited, wrong
}

// replay applies the changes in the activity, and compares them with what clients know.
func replay(requests []*request, entries []entry) (s state, invited map[string]bool, wrong []string) {
	s, invited = newState(), map[string]bool{}
	asked, happened := map[string]*request{}, map[string]int{}
	for _, r := range requests {
		asked[r.id] = r
	}
	for _, e := range entries {
		r := asked[e.RequestID]
		if r == nil || scopes[r.kind.what] != e.Scope {
			continue // from the first start, or a side effect, such as a new member's key
		}
		happened[r.id]++
		switch r.kind.verb {
		case "create", "change":
			s[r.kind.what][e.ItemID] = r.text
			invited[r.text] = invited[r.text] || r.kind.what == "invite"
		case "delete":
			delete(s[r.kind.what], e.ItemID)
		case "accept":
			if s["invite"][r.text] == "" {
				wrong = append(wrong, r.id+" accepted an invite that was not there")
			}
			s["member"][e.ItemID] = s["invite"][r.text]
			delete(s["invite"], r.text)
		}
		if r.item != "" && r.item != e.ItemID {
			wrong = append(wrong, fmt.Sprintf("%s changed %s, not %s", r.id, e.ItemID, r.item))
		}
	}
	for id, r := range asked {
		switch n := happened[id]; {
		case r.verdict == done && n != 1:
			wrong = append(wrong, fmt.Sprintf("%s %s %s was acknowledged, and happened %d times", id, r.kind.verb, r.kind.what, n))
		case r.verdict == refused && n != 0:
			wrong = append(wrong, fmt.Sprintf("%s %s %s was refused with %d, and happened", id, r.kind.verb, r.kind.what, r.status))
		case n > 1:
			wrong = append(wrong, fmt.Sprintf("%s %s %s happened %d times", id, r.kind.verb, r.kind.what, n))
		}
	}
	return s, invited, wrong
}

// activity returns all entries, the oldest first.
func (f *fleet) activity(t *testing.T) []entry {
	t.Helper()
	var all []entry
	for {
		var some []entry
		text, err := f.run("--json", "activity", "--limit=1000", "--offset="+strconv.Itoa(len(all)))
		if err == nil {
			err = json.Unmarshal(text, &some)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
		if len(some) < 1000 {
			slices.Reverse(all)
			return all
		}
	}
}

// state returns what a server lists and counts, without what the first start has made.
func (f *fleet) state(t *testing.T) (s state, counts map[string]int) {
	t.Helper()
	s = newState()
	c, err := api.New(f.at(0), f.key)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	o, one := c.Organization(api.Current), api.Range{Limit: 1}
	for app, err := range o.AllApps(t.Context(), api.AppFilter{}) {
		must(err)
		s["app"][strconv.FormatInt(app.ID, 10)] = app.Name
		if app.Description != "" {
			s["app"][strconv.FormatInt(app.ID, 10)] = app.Description
		}
	}
	for i, err := range o.AllInvites(t.Context(), api.InviteFilter{}) {
		must(err)
		s["invite"][i.ID] = i.TargetEmail
	}
	for m, err := range o.AllMembers(t.Context(), api.MemberFilter{}) {
		must(err)
		if m.Level != api.LevelOwner {
			s["member"][m.User.UUID] = m.User.Email
		}
	}
	for k, err := range c.AllKeys(t.Context()) {
		must(err)
		if k.ID != 1 {
			s["key"][strconv.FormatInt(k.ID, 10)] = k.Name
		}
	}
	apps, err := o.ListApps(t.Context(), api.AppFilter{}, one)
	must(err)
	invites, err := o.ListInvites(t.Context(), api.InviteFilter{}, one)
	must(err)
	members, err := o.ListMembers(t.Context(), api.MemberFilter{}, one)
	must(err)
	keys, err := c.ListKeys(t.Context(), one)
	must(err)
	return s, map[string]int{"app": apps.Count, "invite": invites.Count, "member": members.Count - 1, "key": keys.Count - 1}
}

// checkMails waits until each pending invite was mailed, and counts the mails.
func (f *fleet) checkMails(pending map[string]string, invited map[string]bool, again int) (wrong []string) {
	for deadline, tick := time.Now().Add(3*time.Minute), time.Tick(100*time.Millisecond); ; <-tick {
		sent := map[string]int{}
		for _, m := range f.smtp.Mails() {
			sent[m.To[0]]++
		}
		missing := 0
		for _, address := range pending {
			if sent[address] == 0 {
				missing++
			}
		}
		if missing > 0 && time.Now().Before(deadline) {
			continue
		}
		if missing > 0 {
			wrong = append(wrong, fmt.Sprintf("%d invites were not mailed", missing))
		}
		extra := 0
		for address, n := range sent {
			extra += n - 1
			if !invited[address] {
				wrong = append(wrong, address+" was mailed, and is not invited")
			}
		}
		if extra > again {
			wrong = append(wrong, fmt.Sprintf("%d mails were sent again, at most %d may be", extra, again))
		}
		return wrong
	}
}
