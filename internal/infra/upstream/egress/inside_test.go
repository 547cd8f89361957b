package egress

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"foyer/internal/base/fault"
)

// A name that resolves to an inside address is refused like the address in a url: the contract has one fault for both, and
// the operator's own git host often has such a name. A name that does not resolve is another fault.
func TestNamesInside(t *testing.T) {
	t.Parallel()
	told := func(err error) *fault.Error {
		return fault.Of(explain(&url.Error{URL: "https://git.example:443/", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}))[0]
	}
	for address, what := range map[string]string{"10.0.0.1:443": "private", "127.0.0.1:443": "loopback", "[fe80::1%lo]:443": "not public"} {
		_, err := New(nil).http.Transport.(*http.Transport).DialContext(t.Context(), "tcp", address) // after the name is resolved
		inside := told(err)
		if inside.Kind != fault.Invalid || inside.Field != "url" || !strings.Contains(inside.Detail, what) {
			t.Errorf("%s: %+v", address, inside)
		}
	}
	if unknown := told(&net.DNSError{Err: "no such host", Name: "git.example", IsNotFound: true}); unknown.Kind != fault.UpstreamUnavailable {
		t.Errorf("unknown: %+v", unknown)
	}
}

// A redirect from https to http is refused: whoever is between could read and change what follows.
func TestRedirectToPlainHTTP(t *testing.T) {
	t.Parallel()
	request := func(url string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	for from, to := range map[string]string{"https://a.example": "http://a.example", "https://b.example": "https://b.example/x", "http://c.example": "https://c.example", "http://d.example": "http://d.example/x"} {
		err := New(nil).checkRedirect(request(to), []*http.Request{request(from)})
		if refused := fault.Is(err, fault.Invalid); refused != (from == "https://a.example") {
			t.Errorf("%s to %s: %v", from, to, err)
		}
	}
}
