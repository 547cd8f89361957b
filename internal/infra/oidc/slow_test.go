package oidc

import (
	"net"
	"testing"
	"time"

	"foyer/internal/base/fault"
)

// A provider that takes a connection and says nothing is given up.
func TestProviderIsSlow(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p := New(Settings{Issuer: "http://" + ln.Addr().String()}, time.Now)
	p.patience = 50 * time.Millisecond
	if _, err := p.URL(t.Context(), Secrets{}); !fault.Is(err, fault.UpstreamTimeout) {
		t.Errorf("got %v", err)
	}
}
