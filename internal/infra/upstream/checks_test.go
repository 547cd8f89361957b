package upstream

import (
	"strconv"
	"testing"
	"time"
)

// An answer holds even if all results were cleared just after Open had learned it.
func TestAskedAfterClearing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := newChecks(func() time.Time { return at })
	r, newest := Remote{URL: "https://example.org/a"}, Version{Tag: "v1.0.0", Commit: "c"}
	c.learn(r, newest, at)
	for i := range maxChecks {
		c.learn(Remote{URL: "https://example.org/" + strconv.Itoa(i)}, newest, at)
	}
	if v, _, err := c.asked(r, newest, at, nil).answer(); err != nil || v != newest {
		t.Errorf("got %+v, %v; want %+v", v, err, newest)
	}
}
