package wire

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"foyer/internal/fair"
)

// A small body is checked at once, a large one before those of whoever has sent many.
func TestLargeBodiesTakeTurns(t *testing.T) { //nolint:paralleltest // it replaces what all bodies share
	defer func(shared *fair.Queue) { checking = shared }(checking)
	synctest.Test(t, func(t *testing.T) {
		checking = fair.New(2, math.MaxInt)
		var busy []func()
		for range 2 {
			leave, err := checking.Enter(t.Context(), "busy")
			if err != nil {
				t.Fatal(err)
			}
			busy = append(busy, leave)
		}
		checked := make(chan string, 3)
		send := func(whom string, size int) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"a":"`+strings.Repeat("x", size)+`"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", whom)
			if _, err := ReadObject(httptest.NewRecorder(), r, MaxBody); err != nil {
				t.Error(err)
			}
			checked <- whom
		}
		for _, whom := range []string{"busy", "other"} {
			go send(whom, small)
			synctest.Wait()
		}
		send("small", 1)
		busy[0]()
		for _, want := range []string{"small", "other", "busy"} {
			if got := <-checked; got != want {
				t.Errorf("%s was checked, want %s", got, want)
			}
		}
		if busy[1](); checking.Inside() > 0 {
			t.Error("a place is still taken")
		}
	})
}
