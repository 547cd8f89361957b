package upstream

import (
	"context"
	"sync"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/flight"
)

const (
	// CheckInterval is how often Check asks an upstream at most.
	CheckInterval = 5 * time.Minute

	// maxChecks bounds the results kept in memory, of about 300 bytes each.
	maxChecks = 10_000

	// maxAsking is how many upstreams Check asks at once, and maxAskingWait how
	// many more may wait for that.
	maxAsking     = 8
	maxAskingWait = 48
)

// checks remembers what upstreams answered, by Remote.identity.
type checks struct {
	now    func() time.Time
	flight flight.Group[result] // of those of one tenant who want the same
	asking flight.Group[result] // by identity

	queue *fair.Queue // of upstreams that are asked

	mu      sync.Mutex // of changes to results
	results cache.Cache[string, result]
}

// result is what was last known of an upstream.
type result struct {
	newest  Version   // zero if the upstream never answered
	learned time.Time // when it answered so
	asked   time.Time // when Check last asked; zero if it never did
	err     error     // why Check got no answer then
}

func newChecks(now func() time.Time) *checks {
	return &checks{
		now: now, results: cache.Cache[string, result]{Max: maxChecks}, queue: fair.New(maxAsking, maxAskingWait, "Too many apps are being checked for updates"),
	}
}

// Check returns the newest version at r and when that was learned. It asks at
// most once in CheckInterval, however many call at once; in between, and when the
// upstream fails, it answers from the last result, or with the upstream's fault if
// there is none. If too many upstreams are waiting to be asked, the error is a fault
// of kind Busy.
func (s *Source) Check(ctx context.Context, tenant string, r Remote) (newest Version, learned time.Time, err error) {
	id := r.identity()
	if known, fresh := s.checks.recent(id); fresh {
		return known.answer()
	}
	known, err := s.checks.flight.Do(ctx, tenant+" "+id, func(ctx context.Context) (result, error) { return s.askInTurn(ctx, tenant, r) })
	if err != nil {
		return Version{}, time.Time{}, err
	}
	return known.answer()
}

// askInTurn asks when fewer than maxAsking upstreams are asked, once for all tenants.
func (s *Source) askInTurn(ctx context.Context, tenant string, r Remote) (result, error) {
	leave, err := s.checks.queue.Enter(ctx, tenant)
	if err != nil {
		return result{}, err
	}
	defer leave()
	id := r.identity()
	return s.checks.asking.Do(ctx, id, func(ctx context.Context) (result, error) {
		if known, fresh := s.checks.recent(id); fresh {
			return known, nil // asked between our look and our turn
		}
		return s.ask(ctx, r), nil
	})
}

func (s *Source) ask(ctx context.Context, r Remote) result {
	repo, err := s.Open(ctx, r)
	if err != nil {
		return s.checks.asked(r, Version{}, time.Time{}, err)
	}
	newest, err := repo.Newest()
	return s.checks.asked(r, newest, repo.Learned, err)
}

// asked takes note of what Check was told, or why it was told nothing. Open has learned
// the same, but that may have been cleared since, or be newer by now.
func (c *checks) asked(r Remote, newest Version, at time.Time, err error) result {
	return c.update(r.identity(), func(known *result) {
		if err == nil {
			known.learn(newest, at, c.now())
		}
		known.err = err
		if !fault.Is(err, fault.Internal) { // else the upstream was not asked
			known.asked = c.now()
		}
	})
}

// learn takes note of an answer that Check did not ask for. Its next call still
// asks, because something may have been published since, but falls back on it.
func (c *checks) learn(r Remote, newest Version, at time.Time) {
	c.update(r.identity(), func(known *result) { known.learn(newest, at, c.now()) })
}

// learn takes an answer, unless a later one is known: of two who ask at once, either may be answered first. One that is known
// from a time still to come is older: the clock has stepped back since.
func (known *result) learn(newest Version, at, now time.Time) {
	if !at.Before(known.learned) || known.learned.After(now) {
		known.newest, known.learned = newest, at
	}
}

func (c *checks) update(id string, change func(*result)) result {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, _ := c.results.Get(id, cache.Unversioned)
	change(&known)
	c.results.Put(id, cache.Unversioned, known)
	return known
}

func (c *checks) recent(id string) (known result, fresh bool) {
	known, _ = c.results.Get(id, cache.Unversioned)
	return known, !known.asked.IsZero() && c.now().Sub(known.asked).Abs() < CheckInterval
}

func (known result) answer() (Version, time.Time, error) {
	if known.newest == (Version{}) {
		return Version{}, time.Time{}, known.err
	}
	return known.newest, known.learned, nil
}
