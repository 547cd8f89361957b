package api_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
)

// Requests without a key are counted by address. A trusted proxy's X-Forwarded-For counts; a proxy on a unix socket has
// the address 127.0.0.1.
func TestWhoIsLimited(t *testing.T) {
	t.Parallel()
	const proxy = "127.0.0.1:1000"
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for name, test := range map[string]struct {
		trusted []netip.Prefix
		peers   [2]string
		says    [2]string // in X-Forwarded-For
		same    bool      // both requests count as one client's
	}{
		"two addresses":                 {nil, [2]string{"192.0.2.1:1", "192.0.2.2:1"}, [2]string{}, false},
		"two ports":                     {nil, [2]string{"192.0.2.1:1", "192.0.2.1:2"}, [2]string{}, true},
		"one network of IPv6":           {nil, [2]string{"[2001:db8::1]:1", "[2001:db8::2]:1"}, [2]string{}, true},
		"a proxy":                       {loopback, [2]string{proxy, proxy}, [2]string{"192.0.2.1", "192.0.2.2"}, false},
		"a proxy that is not trusted":   {nil, [2]string{proxy, proxy}, [2]string{"192.0.2.1", "192.0.2.2"}, true},
		"a client that makes one up":    {loopback, [2]string{proxy, proxy}, [2]string{"198.51.100.1, 192.0.2.1", "198.51.100.2, 192.0.2.1"}, true},
		"a socket":                      {loopback, [2]string{"@", "@"}, [2]string{"192.0.2.1", "192.0.2.2"}, false},
		"a socket that is not trusted":  {nil, [2]string{"@", "@"}, [2]string{"192.0.2.1", "192.0.2.2"}, true},
		"sockets with names":            {nil, [2]string{"/tmp/a", "/tmp/b"}, [2]string{}, true},
		"a socket and a proxy, trusted": {loopback, [2]string{"@", proxy}, [2]string{"192.0.2.1", "192.0.2.1"}, true},
	} {
		now := time.Now()
		a := &api.API{
			Log: slog.New(slog.DiscardHandler), Keys: access.NewKeys(&db.DB{Now: func() time.Time { return now }}), TrustedProxies: test.trusted,
		}
		a.Handler(func(*wire.Mux) {})
		for i := range 2 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = test.peers[i]
			r.Header.Set("X-Forwarded-For", test.says[i])
			w := httptest.NewRecorder()
			if err := a.LimitPeer(w, r); err != nil {
				t.Fatal(err)
			}
			want := "r=599;"
			if i == 1 && test.same {
				want = "r=598;"
			}
			if got := w.Header().Get("RateLimit"); !strings.Contains(got, want) {
				t.Errorf("%s: request %d is answered %s, want %s", name, i, got, want)
			}
		}
	}
}

// A limit counts the network of an IPv6 address; the log and the activity have the whole address.
func TestWholeAddress(t *testing.T) {
	t.Parallel()
	a := &api.API{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = "127.0.0.1:1000"
	for says, want := range map[string]string{"2001:db8::1": "2001:db8::1", "::ffff:192.0.2.1": "192.0.2.1", "fe80::1%made-up": "fe80::1", "192.0.2.1:5678": "192.0.2.1", "[2001:db8::1]:5678": "2001:db8::1"} {
		r.Header.Set("X-Forwarded-For", says)
		if got := a.ClientAddress(r); got != want {
			t.Errorf("%s: the address is %s, want %s", says, got, want)
		}
	}
	r.Header.Set("X-Forwarded-For", "2001:db8::1")
	if got := a.ClientNetwork(r); got != "2001:db8::/64" {
		t.Errorf("the network is %s", got)
	}
}

// A refused client gets a Retry-After, even if less than a nanosecond is left.
func TestRefusedHaveRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 123456000)
	a := &api.API{Log: slog.New(slog.DiscardHandler), Keys: access.NewKeys(&db.DB{Now: func() time.Time { return now }})}
	a.Handler(func(*wire.Mux) {})
	refused := 0
	for range 20_000 {
		now = now.Add(time.Millisecond)
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		err := a.CheckPeer(w, r)
		if err == nil {
			_ = a.LimitPeer(w, r)
			continue
		}
		refused++
		if wire.SetHeaders(w, err); w.Header().Get("Retry-After") != "1" {
			t.Fatalf("refusal %d: Retry-After: %q", refused, w.Header().Get("Retry-After"))
		}
	}
	if refused == 0 {
		t.Errorf("refused %d", refused)
	}
}

// After the clock has stepped back, counts still expire, and no request has a negative duration.
func TestClockThatStepsBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	a := &api.API{Log: slog.New(slog.DiscardHandler), InFlight: inflight.New(1 << 20), Keys: access.NewKeys(&db.DB{Now: func() time.Time { return now }})}
	a.Handler(func(*wire.Mux) {})
	const clients = 300
	for i := range clients {
		if i == clients/2 {
			now = now.Add(-24 * time.Hour)
		}
		now = now.Add(time.Minute)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i%250)
		if err := a.LimitPeer(httptest.NewRecorder(), r); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.Counted(); n > 10 {
		t.Errorf("%d addresses are counted", n)
	}
	a.Observe(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { now = now.Add(-time.Hour) }), func(_ *http.Request, o api.Outcome) {
		if o.Took < 0 {
			t.Errorf("it took %s", o.Took)
		}
	}).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
}
