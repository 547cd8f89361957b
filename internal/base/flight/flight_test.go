package flight_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"foyer/internal/base/flight"
)

// Work goes on for the other callers when the caller for which it started has left.
func TestDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g flight.Group[int]
		began, end := 0, make(chan struct{})
		work := func(ctx context.Context) (int, error) {
			began++
			<-end
			return 7, ctx.Err()
		}
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := g.Do(ctx, "a", work); !errors.Is(err, context.Canceled) {
				t.Errorf("who leaves gets %v", err)
			}
		}()
		synctest.Wait()
		for range 2 {
			go func() {
				if v, err := g.Do(t.Context(), "a", work); v != 7 || err != nil {
					t.Errorf("who stays gets %d, %v", v, err)
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(end)
		synctest.Wait()
		if began != 1 {
			t.Errorf("it was done %d times", began)
		}
	})
}

// Work that panics returns an error, and the program continues.
func TestDoPanics(t *testing.T) {
	t.Parallel()
	var g flight.Group[int]
	_, err := g.Do(t.Context(), "a", func(context.Context) (int, error) { panic("no way") })
	if err == nil || !strings.Contains(err.Error(), "no way") {
		t.Errorf("got %v", err)
	}
}
