package queue

import "time"

// company is how many callers are worth waiting for.
type company struct {
	expected int           // how many to wait for; 0: do not wait
	patience time.Duration // how long to wait for them
	misses   int           // misses less hits of late, 0 to 7
	alone    int           // batches to serve before waiting again
}

// met notes how many callers there were at the end of a batch, and how long it took:
// waiting for longer than that would not pay.
func (c *company) met(callers int, took time.Duration) {
	if c.alone > 0 {
		c.alone--
		return
	}
	if c.expected > 1 { // they were waited for and came: missed would have set it to 0
		c.misses = max(c.misses-1, 0)
	}
	c.expected, c.patience = callers, min(took, maxPause)
}

// missed notes that not all came. It makes batches wait again, but more and more rarely.
func (c *company) missed() {
	c.misses = min(c.misses+1, 7)
	c.expected, c.alone = 0, 1<<c.misses
}
