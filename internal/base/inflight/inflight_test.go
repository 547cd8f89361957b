package inflight

import (
	"errors"
	"io"
	"strings"
	"testing"

	"foyer/internal/base/fault"
)

const unit = step

func TestOneUserLeavesRoom(t *testing.T) {
	t.Parallel()
	limit := New(9 * unit)
	begin := func(user int64, n int, fits bool) *Request {
		t.Helper()
		r := limit.Begin()
		r.Of(user)
		if err := r.Take(n); (err == nil) != fits || err != nil && !fault.Is(err, fault.Busy) {
			t.Errorf("user %d, %d bytes: %v", user, n, err)
		}
		return r
	}
	first := begin(1, 3*unit, true)
	begin(1, 3*unit, true)
	begin(1, 1, false)
	begin(2, 3*unit, true)
	begin(3, 1, false)
	first.End()
	begin(1, 3*unit, true)
	begin(2, 1, false)
	if limit.Held() != 9*unit {
		t.Errorf("%d bytes are held", limit.Held())
	}
}

// What a request could not hold even if there were no other one is held: it would never fit.
func TestAloneHoldsMore(t *testing.T) {
	t.Parallel()
	limit := New(3 * unit)
	large, small := limit.Begin(), limit.Begin()
	if err := errors.Join(large.Take(2*unit), large.Take(8*unit)); err != nil {
		t.Error(err)
	}
	if err := small.Take(1); !fault.Is(err, fault.Busy) {
		t.Errorf("beside it: %v", err)
	}
	large.End()
	if err := errors.Join(small.Take(1), large.Take(unit)); err != nil || limit.Held() != unit {
		t.Errorf("after it: %d bytes, %v", limit.Held(), err)
	}
}

// So it is with a part of the only request.
func TestPartAloneHoldsMore(t *testing.T) {
	t.Parallel()
	limit := New(3 * unit)
	r, other := limit.Begin(), limit.Begin()
	r.Of(7)
	if err := r.Take(1); err != nil {
		t.Error(err)
	}
	part := r.Part()
	if err := part.Take(10 * unit); err != nil {
		t.Error(err)
	}
	if part.End(); limit.Held() != unit {
		t.Errorf("%d bytes are held after it", limit.Held())
	}
	other.Add(1)
	if err := r.Part().Take(10 * unit); !fault.Is(err, fault.Busy) {
		t.Errorf("beside another request: %v", err)
	}
}

// The bytes that a request held before it was known whose it is become its user's.
func TestOf(t *testing.T) {
	t.Parallel()
	limit := New(3 * unit)
	r := limit.Begin()
	if err := r.Take(unit); err != nil {
		t.Error(err)
	}
	r.Of(7)
	r.Add(10 * unit)
	if limit.byUser[0] != 0 || limit.byUser[7] != 11*unit {
		t.Errorf("%v", limit.byUser)
	}
	r.End()
	if limit.Held() != 0 || len(limit.byUser) != 0 {
		t.Errorf("%d bytes are left, %v", limit.Held(), limit.byUser)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	limit := New(6 * unit)
	other, r := limit.Begin(), limit.Begin()
	if err := other.Take(1); err != nil {
		t.Error(err)
	}
	body := From(With(t.Context(), r)).Reader(strings.NewReader(strings.Repeat("x", 3*unit)))
	if n, err := io.Copy(io.Discard, body); !fault.Is(err, fault.Busy) || n >= 3*unit {
		t.Errorf("read %d bytes: %v", n, err)
	}
	if all, err := io.ReadAll(From(t.Context()).Reader(strings.NewReader("text"))); string(all) != "text" || err != nil {
		t.Errorf("outside of requests: %q, %v", all, err)
	}
}

// What several requests share counts once, until the last of them has ended.
func TestShare(t *testing.T) {
	t.Parallel()
	limit := New(6 * unit)
	share := func(key string, fits bool) func() {
		t.Helper()
		release, err := limit.Begin().Share(key, 3*unit)
		if (err == nil) != fits || err != nil && !fault.Is(err, fault.Busy) {
			t.Errorf("%s: %v", key, err)
		}
		return release
	}
	first, second := share("a", true), share("a", true)
	first()
	share("b", false)
	second()
	share("b", true)()
	if limit.Held() != 0 || len(limit.shared) != 0 {
		t.Errorf("%d bytes are left, %v", limit.Held(), limit.shared)
	}
}
