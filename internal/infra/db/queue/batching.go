package queue

import "time"

// batching decides how many callers a batch waits for: as many as asked at the end of the last
// one, since most clients ask again as soon as they are answered.
type batching struct {
	expected int           // callers to wait for; 0: do not wait
	timeout  time.Duration // how long to wait for them
	misses   int           // timeouts less full batches of late, 0 to 7
	skip     int           // batches to serve before waiting again
}

// observe notes how many callers there were at the end of a batch, and how long it took:
// waiting for longer than that would not pay.
func (b *batching) observe(callers int, took time.Duration) {
	if b.skip > 0 {
		b.skip--
		return
	}
	if b.expected > 1 { // all came: timedOut would have set it to 0
		b.misses = max(b.misses-1, 0)
	}
	b.expected, b.timeout = callers, min(took, maxPause)
}

// timedOut notes that not all came. Batches wait again, but each time more rarely.
func (b *batching) timedOut() {
	b.misses = min(b.misses+1, 7)
	b.expected, b.skip = 0, 1<<b.misses
}
