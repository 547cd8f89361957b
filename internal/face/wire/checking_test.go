package wire

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/fair"
)

// body calls again when it is asked once more after its end.
type body struct {
	io.Reader
	again func() error
}

func (b body) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, b.again()
	}
	return b.Reader.Read(p)
}

func send(ctx context.Context, tenant string, size int, again func() error) error {
	text := strings.NewReader(`{"a":"` + strings.Repeat("x", size) + `"}`)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body{text, again})
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+tenant)
	_, err := ReadObject(httptest.NewRecorder(), r, MaxBody)
	return err
}

// A small body is checked at once, a large one before those of whoever has sent many.
// Nobody waits for a client that has gone, and who is no longer admitted is refused.
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
				err := send(t.Context(), whom, small, func() error {
					checked = append(checked, whom)
					return io.EOF
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if err := send(t.Context(), "busy", 1, nil); err != nil {
			t.Errorf("a small one: %v", err)
		}
		gone, leaves := context.WithCancel(t.Context())
		all.Go(func() {
			if err := send(gone, "gone", small, nil); !errors.Is(err, context.Canceled) {
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
		refused := errors.New("revoked")
		if err := send(t.Context(), "busy", small, func() error { return refused }); !errors.Is(err, refused) {
			t.Errorf("of who is not admitted any more: %v", err)
		}
		if busy[1](); checking.Inside() > 0 || checking.Waiting() > 0 {
			t.Errorf("%d inside, %d wait", checking.Inside(), checking.Waiting())
		}
	})
}
