package fair

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// enter has somebody wait, and tells in order who has got a place.
func enter(t *testing.T, q *Queue, whom string, entered *[]string) (leave func()) {
	t.Helper()
	proceed := make(chan struct{})
	go func() {
		leave, err := q.Enter(t.Context(), whom)
		if err != nil {
			t.Errorf("%s: %v", whom, err)
			return
		}
		*entered = append(*entered, whom)
		<-proceed
		leave()
	}()
	synctest.Wait()
	return sync.OnceFunc(func() {
		close(proceed)
		synctest.Wait()
	})
}

// Who has filled all places does not keep the others waiting until all is done.
func TestWhoHasTheFewestIsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(2, 10)
		var entered []string
		var leave []func()
		for _, whom := range []string{"a", "a", "a", "a", "b", "c", "b"} {
			leave = append(leave, enter(t, q, whom, &entered))
		}
		if q.Inside() != 2 || q.Waiting() != 5 {
			t.Errorf("%d inside, %d wait", q.Inside(), q.Waiting())
		}
		for _, i := range []int{0, 1, 4, 5} {
			leave[i]()
		}
		if want := []string{"a", "a", "b", "a", "c", "b"}; !slices.Equal(entered, want) {
			t.Errorf("got %v, want %v", entered, want)
		}
		for _, l := range leave {
			l()
		}
		if len(entered) != 7 || q.Inside() != 0 || q.Waiting() != 0 || q.free != 2 || len(q.inside) != 0 {
			t.Errorf("left behind: %+v", q)
		}
	})
}

// However many two have waiting, a third comes after one of each; also with one place.
func TestTurns(t *testing.T) {
	t.Parallel()
	for places, want := range map[int]string{1: "abacbaba", 2: "ababcaba"} {
		synctest.Test(t, func(t *testing.T) {
			q := New(places, 20)
			var entered []string
			var leave []func()
			line := []string{"a", "b", "a", "b", "a", "b", "a", "c"}
			for _, whom := range line {
				leave = append(leave, enter(t, q, whom, &entered))
			}
			for range line {
				for i := range leave {
					leave[i]()
				}
			}
			if got := strings.Join(entered, ""); got != want {
				t.Errorf("%d places: got %s, want %s", places, got, want)
			}
		})
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(1, 3)
		var entered []string
		var leave []func()
		full := func(whom string) {
			t.Helper()
			if _, err := q.Enter(t.Context(), whom); !errors.Is(err, ErrFull) {
				t.Errorf("%s: %v", whom, err)
			}
		}
		for _, whom := range []string{"a", "a"} {
			leave = append(leave, enter(t, q, whom, &entered))
		}
		full("a") // half of the room
		for _, whom := range []string{"b", "c"} {
			leave = append(leave, enter(t, q, whom, &entered))
		}
		full("d")
		for _, l := range leave {
			l()
		}
		if want := []string{"a", "a", "b", "c"}; !slices.Equal(entered, want) {
			t.Errorf("got %v, want %v", entered, want)
		}
		if _, err := New(0, 0).Enter(t.Context(), "a"); !errors.Is(err, ErrFull) {
			t.Errorf("no places: %v", err)
		}
	})
}

// Who waits no longer takes no place from anybody.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	q := New(1, 1)
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
	for range 1000 { // with a place that is free, either is right, but none is lost
		if leave, err := q.Enter(gone, "b"); err == nil {
			leave()
		}
	}
	if q.Inside() != 0 || q.free != 1 {
		t.Errorf("%d inside, %d free", q.Inside(), q.free)
	}
}
