package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"foyer/internal/base/fault"
)

func TestEnumerate(t *testing.T) {
	t.Parallel()
	many := strings.Fields(strings.Repeat("a ", 21))
	for want, all := range map[string][]string{
		"none": nil, "a": {"a"}, "a, b": {"a", "b"}, strings.Repeat("é", 100): {strings.Repeat("é", 101)},
		strings.Join(many[:20], ", "): many[:20], strings.Join(many[:20], ", ") + " and others": many,
	} {
		if got := fault.Enumerate(all); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Whatever an error wraps, it has at least one fault, and an error that has none is ours.
func TestOf(t *testing.T) {
	t.Parallel()
	var list fault.List
	list.Add(nil)
	if err := list.Err(); err != nil {
		t.Error(err)
	}
	list.Add(fault.Field(fault.Blank, "name", "Must not be empty."))
	list.Add(fault.New(fault.Denied, "No."))
	for want, tc := range map[string]struct {
		err  error
		ours bool
	}{
		"name: Must not be empty.; No.":     {fmt.Errorf("both: %w", list.Err()), false},
		"No.":                               {fmt.Errorf("one: %w", fault.New(fault.Denied, "No.")), false},
		"One.":                              {fault.List{{Kind: fault.Denied, Detail: "One."}}, false},
		"Later.":                            {fault.New(fault.Unavailable, "Later."), true},
		"Something went wrong on our side.": {errors.New("a secret"), true},
	} {
		if got := fault.Of(tc.err); got.Error() != want || fault.IsOurs(tc.err) != tc.ours || !fault.Is(tc.err, got[0].Kind) {
			t.Errorf("%v: %v, want %s", tc.err, got, want)
		}
	}
	if empty := fault.Of(fault.List{}); len(empty) != 1 || fault.Is(nil, fault.Internal) {
		t.Errorf("%v", empty)
	}
}
