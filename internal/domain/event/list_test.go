package event

import (
	"strings"
	"testing"
)

// However many events are asked for, a list ends where it weighs enough, and the next goes on there.
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
