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
	// CheckInterval is the shortest interval at which Check asks an upstream.
	CheckInterval = 5 * time.Minute

	// maxChecks limits the number of results in memory, of about 300 bytes each.
	maxChecks = 10_000

	// maxAsking is how many upstreams Check asks at once, at most half of them for one tenant, and maxAskingWait how many
	// more may wait.
	maxAsking     = 8
	maxAskingWait = 48
)

// checks caches the answers of upstreams, by Remote.identity.
type checks struct {
	now    func() time.Time
	flight flight.Group[result] // shared by callers of one tenant
	asking flight.Group[result] // shared by all tenants, by identity

	queue *fair.Queue // of requests to upstreams

	mu      sync.Mutex // guards changes to results
	results cache.Cache[string, result]
}

// result is the last known state of an upstream.
type result struct {
	newest    Version   // zero if the upstream never answered
	checkedAt time.Time // when it answered so
	asked     time.Time // when Check last asked; zero if it never did
	err       error     // why Check got no answer then
}

func newChecks(now func() time.Time) *checks {
	return &checks{
		now: now, results: cache.Cache[string, result]{Max: maxChecks}, queue: fair.New(maxAsking, maxAskingWait, "Too many apps are being checked for updates"),
	}
}

// Check returns the newest version at r and when the upstream listed it. It asks the upstream at most once in
// CheckInterval, however many callers there are. In between, and when the upstream fails, it returns the last result,
// or the upstream's fault if there is none. If too many upstreams are waiting to be asked, the error is a fault of kind
// Busy.
func (s *Source) Check(ctx context.Context, tenant string, r Remote) (newest Version, checkedAt time.Time, err error) {
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

// askInTurn waits until fewer than maxAsking upstreams are being asked, and asks once for all tenants.
func (s *Source) askInTurn(ctx context.Context, tenant string, r Remote) (result, error) {
	leave, err := s.checks.queue.Enter(ctx, tenant)
	if err != nil {
		return result{}, err
	}
	defer leave()
	id := r.identity()
	return s.checks.asking.Do(ctx, id, func(ctx context.Context) (result, error) {
		if known, fresh := s.checks.recent(id); fresh {
			return known, nil // somebody asked between the first look and this turn
		}
		return s.ask(ctx, r), nil
	})
}

func (s *Source) ask(ctx context.Context, r Remote) result {
	repo, err := s.Open(ctx, r)
	if err != nil {
		return s.checks.answered(r, Version{}, time.Time{}, err)
	}
	newest, err := repo.Newest()
	return s.checks.answered(r, newest, repo.CheckedAt, err)
}

// answered records the result of a request by Check. Open has already recorded an answer, but that record may have been
// evicted since, or be newer by now.
func (c *checks) answered(r Remote, newest Version, at time.Time, err error) result {
	return c.update(r.identity(), func(known *result) {
		if err == nil {
			known.set(newest, at, c.now())
		}
		known.err = err
		if !fault.Is(err, fault.Internal) { // else the request never reached the upstream
			known.asked = c.now()
		}
	})
}

// store records an answer that Check did not ask for. The next Check still asks, because something may have been
// published since, but falls back on this answer.
func (c *checks) store(r Remote, newest Version, at time.Time) {
	c.update(r.identity(), func(known *result) { known.set(newest, at, c.now()) })
}

// set records an answer unless a later one is known: of two concurrent requests, either may finish first. A known
// answer from the future is the older one: the clock has stepped back since.
func (known *result) set(newest Version, at, now time.Time) {
	if !at.Before(known.checkedAt) || known.checkedAt.After(now) {
		known.newest, known.checkedAt = newest, at
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
	return known, c.now().Sub(known.asked).Abs() < CheckInterval
}

func (known result) answer() (Version, time.Time, error) {
	if known.newest == (Version{}) {
		return Version{}, time.Time{}, known.err
	}
	return known.newest, known.checkedAt, nil
}
