package wire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// A disconnect is not a fault of ours or an upstream's; a mistake of the client stays the client's.
func TestDropIfHungUp(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for _, tc := range []struct {
		gone bool
		err  error
		want bool
	}{
		{true, errors.New("context canceled"), true},
		{true, fault.New(fault.UpstreamUnavailable, "It did not answer."), true},
		{true, fault.New(fault.Busy, "Full."), true},
		{true, fault.New(fault.Invalid, "Must be."), false},
		{true, nil, false},
		{false, errors.New("a fault of ours"), false},
	} {
		ctx := t.Context()
		if tc.gone {
			ctx = gone
		}
		w := httptest.NewRecorder()
		got := wire.DropIfDisconnected(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil), tc.err)
		if got != tc.want || got != (w.Code == 499) {
			t.Errorf("%v: %t, status %d", tc.err, got, w.Code)
		}
	}
}
