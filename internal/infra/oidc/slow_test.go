package oidc

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream/upstreamtest"
)

// A request times out if a provider accepts the connection and does not respond.
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

// A request ends if a provider switches protocols and does not go on.
func TestProviderSwitchesProtocols(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := upstreamtest.SwitchProtocols(w); err != nil {
			t.Errorf("the connection is not closed: %v", err)
		}
	}))
	defer s.Close() // waits for the handler
	if _, err := New(Settings{Issuer: s.URL}, time.Now).URL(t.Context(), Secrets{}); !fault.Is(err, fault.UpstreamUnavailable) {
		t.Errorf("got %v", err)
	}
}

// A remote provider cannot make us send http requests to this machine.
func TestProviderNamesAddressesHere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"} {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at := "https://" + r.Host
			about := map[string]string{"issuer": at, "authorization_endpoint": at, "token_endpoint": at, "jwks_uri": at, "userinfo_endpoint": at}
			if name != "" {
				about[name] = "http://127.0.0.1:9100/"
			}
			_ = json.NewEncoder(w).Encode(about)
		}))
		defer s.Close()
		p := New(Settings{Issuer: s.URL}, time.Now)
		p.client = s.Client()
		if _, err := p.URL(t.Context(), Secrets{}); fault.Is(err, fault.UpstreamUnavailable) != (name != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
