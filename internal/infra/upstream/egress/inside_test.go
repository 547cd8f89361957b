package egress

import (
	"net"
	"strings"
	"testing"

	"foyer/internal/base/fault"
)

// Callers cannot distinguish a name that resolves to an inside address from one that does not exist; the operator can, by
// the cause.
func TestNamesInside(t *testing.T) {
	t.Parallel()
	told := func(err error) *fault.Error {
		return fault.Of(explain("git.example:443", &net.OpError{Op: "dial", Net: "tcp", Err: err}))[0]
	}
	unknown := told(&net.DNSError{Err: "no such host", Name: "git.example", IsNotFound: true})
	for address, what := range map[string]string{"10.0.0.1:443": "private", "127.0.0.1:443": "loopback", "[fe80::1]:443": "not public"} {
		inside := told(New(nil).control("tcp", address, nil))
		if inside.Kind != unknown.Kind || inside.Detail != unknown.Detail || inside.Field != unknown.Field || inside.RetryAfter != unknown.RetryAfter {
			t.Errorf("%s: %+v; unknown: %+v", address, inside, unknown)
		}
		if inside.Cause == nil || !strings.Contains(inside.Cause.Error(), what) {
			t.Errorf("%s: the cause is %v", address, inside.Cause)
		}
	}
}
