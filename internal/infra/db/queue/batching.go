package queue

import "time"

// batching decides how many callers a batch waits for: as many as were there at the end of the last batch, since most
// clients ask again as soon as they get an answer.
type batching struct {
	expected int           // callers to wait for; 0: do not wait
	timeout  time.Duration // how long to wait for them
	misses   int           // recent timeouts minus recent full batches, 0 to 7
	skip     int           // batches to serve before waiting again
}

// observe records how many callers there were at the end of a batch, and how long it took: waiting longer than that would
// not pay.
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

// timedOut records that some callers did not come. Batches wait again later, but each time more rarely.
func (b *batching) timedOut() {
	b.misses = min(b.misses+1, 7)
	b.expected, b.skip = 0, 1<<b.misses
}
