package client_test

import (
	"net/http"
	"testing"
	"time"

	"foyer/client"
)

// A wait below a second is rounded up: with 0, a loop that reads events would poll without a pause.
func TestWaitIsRoundedUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wait time.Duration
		want string
	}{{0, ""}, {time.Millisecond, "1"}, {time.Second, "1"}, {1500 * time.Millisecond, "2"}, {time.Minute, "60"}} {
		o := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("wait"); got != test.want {
				t.Errorf("%s: wait=%s; want %s", test.wait, got, test.want)
			}
			answer(200, `{"results":[],"next":0}`)(w, r)
		})
		if _, err := o.ListEvents(t.Context(), client.EventRange{Wait: test.wait}); err != nil {
			t.Error(err)
		}
	}
}
