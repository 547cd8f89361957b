package event

import (
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db/dbtest"
)

// A list ends at its limit of bytes, however many events are asked for, and the next list goes on there.
func TestListOfLargeEvents(t *testing.T) {
	each(t, func(r rig) {
		const events, size, bytes = 7, 100_000, 250_000
		r.happenWith(events, `"`+strings.Repeat("x", size)+`"`)
		all := 0
		for after, more := int64(0), true; more; {
			var part []Event
			var err error
			if part, after, more, err = r.After(r.Context(), r.caller, after, 1000, bytes); err != nil {
				r.Fatal(err)
			}
			if n := len(part); n > bytes/size+1 || n == 0 || part[n-1].Sequence != after {
				r.Errorf("%d events, next is %d", n, after)
			}
			all += len(part)
		}
		if all != events {
			r.Errorf("%d events in all", all)
		}
	})
}

// Events and their deliveries are listed for 30 days; a list begins after older ones.
func TestKeptFor30Days(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.updated")
		r.happen(1)
		r.send(r.Service)
		for _, c := range []struct {
			pass time.Duration
			left int
		}{{29 * 24 * time.Hour, 1}, {48 * time.Hour, 0}} {
			r.pass(c.pass)
			if err := r.Tidy(r.Context()); err != nil {
				r.Fatal(err)
			}
			events, _, _, err := r.After(r.Context(), r.caller, 0, 10, 1<<20)
			sent := slices.DeleteFunc(r.deliveries(w.ID), func(d Delivery) bool { return d.State != Delivered })
			if err != nil || len(slices.DeleteFunc(events, func(e Event) bool { return e.Type != "app.updated" })) != c.left || len(sent) != c.left {
				r.Errorf("%s later: %+v, %+v, %v, want %d", c.pass, events, sent, err, c.left)
			}
			if from, err := r.Begin(r.Context(), r.caller, 0); err != nil || (from == 0) != (c.left > 0) {
				r.Errorf("%s later a list begins after %d, %v", c.pass, from, err)
			}
		}
	})
}

// Entries that are no events are read once.
func TestListGoesOnAfterTheLastEntry(t *testing.T) {
	each(t, func(r rig) {
		r.happen(1)
		r.webhook(r.receiver().URL, "app.*")
		r.number()
		events, next, _, err := r.After(r.Context(), r.caller, 0, 10, 1<<20)
		if err != nil || len(events) != 1 || next != 2 {
			r.Errorf("%d events, next is %d, %v", len(events), next, err)
		}
		before := dbtest.Statements(r.DB)
		events, next, more, err := r.After(r.Context(), r.caller, next, 10, 1<<20)
		if statements := dbtest.Statements(r.DB) - before; err != nil || len(events) != 0 || next != 2 || more || statements != 1 {
			r.Errorf("again: %d events, next is %d, more: %t, after %d statements, %v", len(events), next, more, statements, err)
		}
		r.happen(1)
		if events, next, _, err := r.After(r.Context(), r.caller, next, 10, 1<<20); err != nil || len(events) != 1 || next != 3 {
			r.Errorf("%d new events, next is %d, %v", len(events), next, err)
		}
	})
}
