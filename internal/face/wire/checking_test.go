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
)

// check has a body checked in its turn, which calls checked.
func check(ctx context.Context, tenant string, size int, checked func()) error {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	r.Header.Set("Authorization", "Bearer "+tenant)
	_, err := inTurn(r, make([]byte, size), func([]byte) (struct{}, error) {
		checked()
		return struct{}{}, nil
	})
	return err
}

// A small body is checked at once, a large one before those of whoever has sent many.
// Nobody waits for a client that has gone.
func TestLargeBodiesTakeTurns(t *testing.T) { //nolint:paralleltest // it replaces what all bodies share
	defer func(shared *fair.Queue) { checking = shared }(checking)
	synctest.Test(t, func(t *testing.T) {
		checking = fair.New(2, math.MaxInt, "Full")
		var busy []func()
		for _, whom := range []string{"busy", "too"} {
			leave, err := checking.Enter(t.Context(), whom)
			if err != nil {
				t.Fatal(err)
			}
			busy = append(busy, leave)
		}
		time.Sleep(time.Second) // which both have used
		var checked []string
		var all sync.WaitGroup
		for _, whom := range []string{"busy", "other", "busy"} {
			all.Go(func() {
				if err := check(t.Context(), whom, small+1, func() { checked = append(checked, whom) }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if err := check(t.Context(), "busy", small, func() {}); err != nil {
			t.Errorf("a small one: %v", err)
		}
		gone, leaves := context.WithCancel(t.Context())
		all.Go(func() {
			if err := check(gone, "gone", small+1, func() { t.Error("checked") }); !errors.Is(err, context.Canceled) {
				t.Errorf("of a client that has gone: %v", err)
			}
		})
		synctest.Wait()
		leaves()
		synctest.Wait()
		busy[0]()
		all.Wait()
		if want := []string{"other", "busy", "busy"}; !slices.Equal(checked, want) {
			t.Errorf("checked %v, want %v", checked, want)
		}
		if busy[1](); checking.Inside() > 0 || checking.Waiting() > 0 {
			t.Errorf("%d inside, %d wait", checking.Inside(), checking.Waiting())
		}
	})
}
