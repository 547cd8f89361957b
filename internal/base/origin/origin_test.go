package origin_test

import (
	"net/url"
	"testing"

	"foyer/internal/base/origin"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://example.org/a", "http://EXAMPLE.org:80/b?c", true},
		{"https://example.org:443", "https://example.org:", true},
		{"http://[::1]:80", "http://[::1]", true},
		{"http://example.org:443", "http://example.org", false},
		{"https://example.org:80", "http://example.org", false},
		{"https://example.org:8443", "https://example.org", false},
		{"https://example.org", "https://www.example.org", false},
		{"https://example.org", "https://example.org.", false},
		{"https://github.example", "https://gİthub.example", false}, // requests go to xn--github-qyd.example
	} {
		a, errA := url.Parse(c.a)
		b, errB := url.Parse(c.b)
		if errA != nil || errB != nil || (origin.Of(a) == origin.Of(b)) != c.same {
			t.Errorf("%s and %s (%v, %v): want %v", c.a, c.b, errA, errB, c.same)
		}
	}
}
