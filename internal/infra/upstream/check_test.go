package upstream_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/upstreamtest"
)

// check fails unless Check returns the tag and age.
func check(t *testing.T, s *upstream.Source, c *clock, url, tag string, age time.Duration) {
	t.Helper()
	version, checkedAt, err := s.Check(t.Context(), "Acme", parse(t, url))
	if got := c.now().Sub(checkedAt); err != nil || version.Tag != tag || got != age {
		t.Errorf("Check: tag %q, age %v, error %v; want %q, %v", version.Tag, got, err, tag, age)
	}
}

// released starts a host with an app at v1.0.0.
func released(t *testing.T) (*upstreamtest.Host, *upstreamtest.Repo) {
	t.Helper()
	host := upstreamtest.NewHost(t)
	repo := host.Repo(t, "bar-app")
	repo.Tag(t, "v1.0.0", repo.Commit(t, app()))
	return host, repo
}

func TestCheckAsksOnce(t *testing.T) {
	t.Parallel()
	host, repo := released(t)
	clock := newClock()
	source := newSource(clock)

	for range 20 {
		check(t, source, clock, repo.URL, "v1.0.0", 0)
	}
	check(t, source, clock, repo.URL+".git/", "v1.0.0", 0)
	if n := host.Requests(); n != 1 {
		t.Errorf("20 checks made %d requests", n)
	}
	repo.Tag(t, "v1.1.0", "refs/heads/main")
	clock.advance(upstream.CheckInterval - time.Second)
	check(t, source, clock, repo.URL, "v1.0.0", upstream.CheckInterval-time.Second)
	clock.advance(time.Second)
	check(t, source, clock, repo.URL, "v1.1.0", 0)
	if n := host.Requests(); n != 2 {
		t.Errorf("%d requests after the interval; want 2", n)
	}
}

// A result from before the clock stepped back is neither fresh nor newer than the next answer.
func TestCheckAfterClockStepsBack(t *testing.T) {
	t.Parallel()
	_, repo := released(t)
	clock := newClock()
	source := newSource(clock)
	check(t, source, clock, repo.URL, "v1.0.0", 0)
	repo.Tag(t, "v1.1.0", "refs/heads/main")
	clock.advance(-24 * time.Hour)
	check(t, source, clock, repo.URL, "v1.1.0", 0)
	clock.advance(time.Minute)
	check(t, source, clock, repo.URL, "v1.1.0", time.Minute)
}

func TestCheckTogether(t *testing.T) {
	t.Parallel()
	host, repo := released(t)
	clock := newClock()
	source := newSource(clock)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { check(t, source, clock, repo.URL, "v1.0.0", 0) })
	}
	all.Wait()
	if n := host.Requests(); n != 1 {
		t.Errorf("50 checks at once made %d requests", n)
	}
}

// Tenants who check the same upstream at once cause one request.
func TestCheckTogetherOfTenants(t *testing.T) {
	t.Parallel()
	host, repo := released(t)
	source := newSource(newClock())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if version, _, err := source.Check(t.Context(), strconv.Itoa(i), parse(t, repo.URL)); err != nil || version.Tag != "v1.0.0" {
				t.Errorf("tag %q, error %v", version.Tag, err)
			}
		})
	}
	all.Wait()
	if n := host.Requests(); n != 1 {
		t.Errorf("checks of 8 tenants at once made %d requests", n)
	}
}

func TestCheckWhenUpstreamFails(t *testing.T) {
	t.Parallel()
	host, repo := released(t)
	clock := newClock()
	source := newSource(clock)

	host.Fail(http.StatusInternalServerError)
	for range 3 {
		_, _, err := source.Check(t.Context(), "Acme", parse(t, repo.URL))
		wantFault(t, err, fault.UpstreamUnavailable, "", "500")
	}
	if n := host.Requests(); n != 1 {
		t.Errorf("3 checks of a host that fails made %d requests", n)
	}
	host.Intercept(nil)
	clock.advance(upstream.CheckInterval)
	check(t, source, clock, repo.URL, "v1.0.0", 0)

	host.Fail(http.StatusInternalServerError)
	clock.advance(time.Hour)
	check(t, source, clock, repo.URL, "v1.0.0", time.Hour)
	clock.advance(time.Minute)
	check(t, source, clock, repo.URL, "v1.0.0", time.Hour+time.Minute)
	if n := host.Requests(); n != 3 {
		t.Errorf("%d requests; want 3", n)
	}
}

// An installation also learns the newest version, but a check right after it asks: something may have been published
// since.
func TestCheckAfterOpen(t *testing.T) {
	t.Parallel()
	host, repo := released(t)
	clock := newClock()
	source := newSource(clock)
	open := func() {
		t.Helper()
		if _, err := source.Open(t.Context(), parse(t, repo.URL)); err != nil {
			t.Fatal(err)
		}
	}
	open()
	repo.Tag(t, "v1.1.0", "refs/heads/main")
	check(t, source, clock, repo.URL, "v1.1.0", 0)
	repo.Tag(t, "v1.2.0", "refs/heads/main")
	clock.advance(time.Minute)
	open()
	check(t, source, clock, repo.URL, "v1.2.0", 0) // from the last result, which is newer than v1.1.0
	if n := host.Requests(); n != 3 {
		t.Errorf("%d requests; want 3", n)
	}
	host.Fail(http.StatusBadGateway)
	clock.advance(upstream.CheckInterval)
	check(t, source, clock, repo.URL, "v1.2.0", upstream.CheckInterval)
}

// A host's answer to credentials is not for everybody who knows the url.
func TestCheckKeepsCredentialsApart(t *testing.T) {
	t.Parallel()
	host, repo := released(t)
	host.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if _, _, ok := r.BasicAuth(); ok {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	clock := newClock()
	source := newSource(clock)
	check(t, source, clock, strings.Replace(repo.URL, "://", "://joe:secret@", 1), "v1.0.0", 0)
	_, _, err := source.Check(t.Context(), "Acme", parse(t, repo.URL))
	wantFault(t, err, fault.UpstreamUnavailable, "", "401")
}

// However many upstreams are to be checked, few are asked at once, a few more wait, and the other callers must try again.
func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	const together, admitted, all = 8, 56, 64
	host := upstreamtest.NewHost(t)
	proceed := make(chan struct{})
	var now, most atomic.Int32
	host.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		n := now.Add(1)
		defer now.Add(-1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
		<-proceed
		w.WriteHeader(http.StatusNotFound)
		return true
	})
	source := newSource(newClock())
	answers := make(chan error, all)
	for i := range all {
		r := parse(t, fmt.Sprint(host.URL, "/app", i))
		go func() {
			_, _, err := source.Check(t.Context(), strconv.Itoa(i), r)
			answers <- err
		}()
	}
	for range all - admitted {
		if err := <-answers; !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
			t.Errorf("beyond what fits: %v", err)
		}
	}
	close(proceed)
	for range admitted {
		if err := <-answers; !fault.Is(err, fault.UpstreamUnavailable) {
			t.Errorf("within what fits: %v", err)
		}
	}
	if n := most.Load(); n > together {
		t.Errorf("%d were asked at once", n)
	}
}
