package wire

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/fair"
	"foyer/internal/base/inflight"
)

// check reads a user's body, which waits for its turn and then calls checked. Only the context names the user: the
// console sends no key.
func check(ctx context.Context, limit *inflight.Limit, user int64, size int, checked func()) error {
	request := limit.Begin(nil)
	defer request.End()
	request.Of(user)
	r := httptest.NewRequestWithContext(inflight.With(ctx, request), http.MethodPost, "/", nil)
	_, err := inTurn(r, make([]byte, size), func([]byte) (struct{}, error) {
		checked()
		return struct{}{}, nil
	})
	return err
}

// A small body is parsed at once. A large one goes before those of a user who has sent many. A disconnected client
// blocks nobody.
func TestLargeBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const busyUser, busyToo, otherUser, goneUser = 1, 2, 3, 4
		limit := inflight.New(1 << 30)
		limit.Turns = fair.New(2, math.MaxInt, "Full")
		var busy []func()
		for _, whom := range []int64{busyUser, busyToo} {
			request := limit.Begin(nil)
			request.Of(whom)
			leave, err := request.Enter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			busy = append(busy, leave)
		}
		time.Sleep(time.Second) // of turn time for both
		var checked []int64
		var all sync.WaitGroup
		for _, whom := range []int64{busyUser, otherUser, busyUser} {
			all.Go(func() {
				if err := check(t.Context(), limit, whom, small+1, func() { checked = append(checked, whom) }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if err := check(t.Context(), limit, busyUser, small, func() {}); err != nil {
			t.Errorf("a small one: %v", err)
		}
		gone, leaves := context.WithCancel(t.Context())
		all.Go(func() {
			if err := check(gone, limit, goneUser, small+1, func() { t.Error("checked") }); !errors.Is(err, context.Canceled) {
				t.Errorf("of a client that has gone: %v", err)
			}
		})
		synctest.Wait()
		leaves()
		synctest.Wait()
		busy[0]()
		all.Wait()
		if want := []int64{otherUser, busyUser, busyUser}; !slices.Equal(checked, want) {
			t.Errorf("checked %v, want %v", checked, want)
		}
		if busy[1](); limit.Turns.Inside() > 0 || limit.Turns.Waiting() > 0 {
			t.Errorf("%d inside, %d wait", limit.Turns.Inside(), limit.Turns.Waiting())
		}
	})
}
