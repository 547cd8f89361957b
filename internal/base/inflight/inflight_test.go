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
		r := limit.Begin(nil)
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

// A request that exceeds the limit by itself is admitted while it is the only one: it would otherwise never fit.
func TestAloneHoldsMore(t *testing.T) {
	t.Parallel()
	limit := New(3 * unit)
	large, small := limit.Begin(nil), limit.Begin(nil)
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

// The same holds for a part of the only request. It counts for the same user.
func TestPartAloneHoldsMore(t *testing.T) {
	t.Parallel()
	limit := New(3 * unit)
	r, other := limit.Begin(nil), limit.Begin(nil)
	r.Of(7)
	if err := r.Take(1); err != nil {
		t.Error(err)
	}
	part := r.part()
	if err := part.Take(10 * unit); err != nil {
		t.Error(err)
	}
	if held := limit.by[r.owner()]; held != 11*unit {
		t.Errorf("%d bytes count for the user of both", held)
	}
	if part.End(); limit.Held() != unit {
		t.Errorf("%d bytes are held after it", limit.Held())
	}
	other.Add(1)
	if err := r.part().Take(10 * unit); !fault.Is(err, fault.Busy) {
		t.Errorf("beside another request: %v", err)
	}
}

// When the user of a request becomes known, the bytes it already holds count for that user.
func TestOf(t *testing.T) {
	t.Parallel()
	limit := New(3 * unit)
	r := limit.Begin(nil)
	if err := r.Take(unit); err != nil {
		t.Error(err)
	}
	r.Of(7)
	r.Add(10 * unit)
	if len(limit.by) != 1 || limit.by[owner{kind: users, id: 7}] != 11*unit {
		t.Errorf("%v", limit.by)
	}
	r.End()
	if limit.Held() != 0 || len(limit.by) != 0 || limit.byKind != [kinds]int{} {
		t.Errorf("%d bytes are left, %v, %v", limit.Held(), limit.by, limit.byKind)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	limit := New(6 * unit)
	other, r := limit.Begin(nil), limit.Begin(nil)
	if err := other.Take(1); err != nil {
		t.Error(err)
	}
	body := From(With(t.Context(), r)).Reader(strings.NewReader(strings.Repeat("x", 3*unit)))
	if n, err := io.Copy(io.Discard, body); !fault.Is(err, fault.Busy) || n >= 3*unit {
		t.Errorf("read %d bytes: %v", n, err)
	}
	r.Add(unit) // a response that says so
	if limit.Held() != unit {
		t.Errorf("%d bytes are held of what is refused", limit.Held()-unit)
	}
	if all, err := io.ReadAll(From(t.Context()).Reader(strings.NewReader("text"))); string(all) != "text" || err != nil {
		t.Errorf("outside of requests: %q, %v", all, err)
	}
}

// Bytes that several requests send count once, for the organization, until the last of these requests ends.
func TestShare(t *testing.T) {
	t.Parallel()
	limit := New(12 * unit)
	share := func(organization, key string, fits bool) *Request {
		t.Helper()
		r := limit.Begin(nil)
		if err := r.Share(organization, key, 3*unit); (err == nil) != fits || err != nil && !fault.Is(err, fault.Busy) {
			t.Errorf("%s of %s: %v", key, organization, err)
		}
		return r
	}
	first, second := share("ours", "a", true), share("ours", "a", true)
	first.End()
	share("ours", "b", false)
	theirs := share("theirs", "c", true)
	share("others", "d", false)
	share("others", "a", true).End()
	second.End()
	share("ours", "b", true).End()
	theirs.End()
	if err := limit.Begin(nil).Share("ours", "small", step-1); err != nil || limit.Held() != 0 || len(limit.shared) != 0 {
		t.Errorf("%d bytes are left, %v, %v", limit.Held(), limit.shared, err)
	}
}

type from string

func (f from) Network() string { return string(f) }

// Clients without a key have little room each, and leave most of it to users and to data that pages load.
func TestWithoutAKey(t *testing.T) {
	t.Parallel()
	limit := New(24 * unit)
	take := func(r *Request, n int, fits bool) {
		t.Helper()
		if err := r.Take(n); (err == nil) != fits || err != nil && !fault.Is(err, fault.Busy) {
			t.Errorf("%+v, %d bytes: %v", r.owner(), n, err)
		}
	}
	for _, network := range []from{"a", "b", "c"} {
		take(limit.Begin(network), unit, true)
		take(limit.Begin(network), unit, true)
		take(limit.Begin(network), 1, false)
	}
	take(limit.Begin(from("d")), 1, false)
	r := limit.Begin(from("a"))
	r.Of(7)
	take(r, 16*unit, true)
	if err := limit.Begin(from("a")).Share("ours", "a", 2*unit); err != nil {
		t.Error(err)
	}
}
