package upstream

import (
	"strconv"
	"testing"
	"time"
)

// An answer is returned even if Open's record of it was evicted just before.
func TestAskedAfterClearing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := newChecks(func() time.Time { return at })
	r, newest := Remote{URL: "https://example.org/a"}, Version{Tag: "v1.0.0", Commit: "c"}
	c.store(r, newest, at)
	for i := range maxChecks {
		c.store(Remote{URL: "https://example.org/" + strconv.Itoa(i)}, newest, at)
	}
	if v, _, err := c.answered(r, newest, at, nil).answer(); err != nil || v != newest {
		t.Errorf("got %+v, %v; want %+v", v, err, newest)
	}
}

// Of two concurrent requests, the first to start may finish last.
func TestAnswersInAnyOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r, newest := Remote{URL: "https://example.org/a"}, Version{Tag: "v2.0.0", Commit: "c"}
	earlier := Version{Tag: "v1.0.0", Commit: "b"}
	for name, late := range map[string]func(c *checks){
		"of an install": func(c *checks) { c.store(r, earlier, at.Add(-time.Second)) },
		"of a check":    func(c *checks) { c.answered(r, earlier, at.Add(-time.Second), nil) },
	} {
		c := newChecks(func() time.Time { return at })
		c.store(r, newest, at)
		late(c)
		if known, _ := c.recent(r.identity()); known.newest != newest || !known.checkedAt.Equal(at) {
			t.Errorf("after the late answer %s: %+v", name, known)
		}
	}
}
