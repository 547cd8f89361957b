package fair

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/fault"
)

// enter calls Enter for a tenant and records the order in which callers get a slot.
func enter(t *testing.T, q *Queue, tenant string, entered *[]string) (leave func()) {
	t.Helper()
	proceed := make(chan struct{})
	go func() {
		leave, err := q.Enter(t.Context(), tenant)
		if err != nil {
			t.Errorf("%s: %v", tenant, err)
			return
		}
		*entered = append(*entered, tenant)
		<-proceed
		leave()
	}()
	synctest.Wait()
	return sync.OnceFunc(func() {
		close(proceed)
		synctest.Wait()
	})
}

// No tenant has more than half of the slots, even if no other tenant wants them. A free slot goes to the tenant with the
// fewest slots.
func TestWhoHasTheFewestIsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(4, 12, "Full")
		var entered []string
		var leave []func()
		for _, tenant := range []string{"a", "a", "a"} {
			leave = append(leave, enter(t, q, tenant, &entered))
		}
		enter(t, q, "b", &entered)() // its slot is for others
		if q.Inside() != 2 || q.Waiting() != 1 {
			t.Errorf("%d inside, %d wait", q.Inside(), q.Waiting())
		}
		for _, tenant := range []string{"b", "c", "c", "d"} {
			leave = append(leave, enter(t, q, tenant, &entered))
		}
		if q.Inside() != 4 || q.Waiting() != 3 {
			t.Errorf("%d inside, %d wait", q.Inside(), q.Waiting())
		}
		for _, i := range []int{0, 1, 3} {
			leave[i]()
		}
		if want := []string{"a", "a", "b", "b", "c", "d", "a", "c"}; !slices.Equal(entered, want) {
			t.Errorf("got %v, want %v", entered, want)
		}
		for _, l := range leave {
			l()
		}
		if len(entered) != 8 || q.Inside() != 0 || q.Waiting() != 0 || q.free != 4 || len(q.tenants) != 0 {
			t.Errorf("left behind: %+v", q)
		}
	})
}

// Among tenants with equally many slots, the one that has used slots for the shortest time comes first; past use is
// forgotten with time.
func TestWhatWasUsedCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 20, "Full")
		var entered []string
		use := func(tenant string, d time.Duration) {
			leave, err := q.Enter(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
			leave()
		}
		next := func() string {
			entered = nil
			hold, err := q.Enter(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			leave := []func(){enter(t, q, "a", &entered), enter(t, q, "b", &entered)}
			hold()
			synctest.Wait()
			for _, l := range leave {
				l()
			}
			return strings.Join(entered, "")
		}
		use("a", 10*time.Second)
		use("b", 5*time.Second)
		if got := next(); got != "ba" {
			t.Errorf("the first is %s", got)
		}
		time.Sleep(2 * halfLife)
		use("b", 3*time.Second)
		if got := next(); got != "ab" {
			t.Errorf("later, the first is %s", got)
		}
		time.Sleep(time.Hour)
		use("x", 0)
		if len(q.tenants) != 0 {
			t.Errorf("%d tenants are remembered", len(q.tenants))
		}
	})
}

// While two tenants have many callers waiting, a third gets its turn after one caller of each; also with one slot.
func TestTurns(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]string{1: "abacbaba", 2: "ababcaba"} {
		synctest.Test(t, func(t *testing.T) {
			q := New(slots, 20, "Full")
			var entered []string
			var leave []func()
			line := []string{"a", "b", "a", "b", "a", "b", "a", "c"}
			for _, tenant := range line {
				leave = append(leave, enter(t, q, tenant, &entered))
			}
			for range line {
				for i := range leave {
					leave[i]()
				}
			}
			if got := strings.Join(entered, ""); got != want {
				t.Errorf("%d slots: got %s, want %s", slots, got, want)
			}
		})
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 3, "The house is full")
		var entered []string
		var leave []func()
		full := func(tenant string) {
			t.Helper()
			_, err := q.Enter(t.Context(), tenant)
			if !fault.Is(err, fault.Busy) || err.Error() != "The house is full; try again in a few seconds." || fault.Of(err)[0].RetryAfter == 0 {
				t.Errorf("%s: %v", tenant, err)
			}
		}
		for _, tenant := range []string{"a", "a"} {
			leave = append(leave, enter(t, q, tenant, &entered))
		}
		full("a") // half of the room
		for _, tenant := range []string{"b", "c"} {
			leave = append(leave, enter(t, q, tenant, &entered))
		}
		full("d")
		for _, l := range leave {
			l()
		}
		if want := []string{"a", "a", "b", "c"}; !slices.Equal(entered, want) {
			t.Errorf("got %v, want %v", entered, want)
		}
		if _, err := New(0, 0, "Full").Enter(t.Context(), "a"); !fault.Is(err, fault.Busy) {
			t.Errorf("no slots: %v", err)
		}
	})
}

// With one slot each, tenants wait only for their own callers, in the order they came.
func TestOneEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := OneEach(2, "Full")
		var entered []string
		var leave []func()
		for _, tenant := range []string{"a", "a", "b", "a", "c", "b"} {
			leave = append(leave, enter(t, q, tenant, &entered))
		}
		if q.Inside() != 3 || q.Waiting() != 3 {
			t.Errorf("%d inside, %d wait", q.Inside(), q.Waiting())
		}
		if _, err := q.Enter(t.Context(), "a"); !fault.Is(err, fault.Busy) {
			t.Errorf("got %v", err)
		}
		for _, l := range leave {
			l()
		}
		if want := []string{"a", "b", "c", "a", "a", "b"}; !slices.Equal(entered, want) {
			t.Errorf("got %v, want %v", entered, want)
		}
	})
}

// A caller that stops waiting takes no slot from another.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	q := New(1, 1, "Full")
	leave, err := q.Enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Enter(gone, "b"); !errors.Is(err, context.Canceled) || q.Waiting() != 0 {
		t.Errorf("%v, %d wait", err, q.Waiting())
	}
	leave()
	for range 1000 { // with a free slot, both results are right, but no slot may be lost
		if leave, err := q.Enter(gone, "b"); err == nil {
			leave()
		}
	}
	if q.Inside() != 0 || q.free != 1 {
		t.Errorf("%d inside, %d free", q.Inside(), q.free)
	}
}

// A caller that has waited too long takes no slot either.
func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 1, "Full")
		leave, err := q.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := q.Enter(t.Context(), "b"); !fault.Is(err, fault.Busy) || time.Since(began) != maxWait || q.Waiting() != 0 {
			t.Errorf("%v after %v, %d wait", err, time.Since(began), q.Waiting())
		}
		leave()
		if q.Inside() != 0 {
			t.Errorf("%d inside", q.Inside())
		}
	})
}
