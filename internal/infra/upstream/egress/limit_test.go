package egress

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// Bytes that a kept connection received for earlier events do not count for later ones.
func TestPostsBringInMuch(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 60<<10)
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Large", large) })
	for _, server := range []*httptest.Server{httptest.NewServer(answer), httptest.NewTLSServer(answer)} {
		t.Cleanup(server.Close)
		c := NewForWebhooks([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
		c.http.Transport.(*http.Transport).TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
		for i := range maxReceived/len(large) + 10 {
			if status, class := c.Post(t.Context(), server.URL, nil, nil); status != http.StatusOK || class != "" {
				t.Fatalf("event %d: %d, %q", i, status, class)
			}
		}
	}
}
