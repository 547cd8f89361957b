package egress_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/upstreamtest"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// TestMain names a proxy in the environment, before net/http reads it for good.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "by the proxy") }))
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		os.Setenv(name, proxy.URL)
	}
	os.Exit(m.Run())
}

func get(t *testing.T, allow []netip.Prefix, url string, header ...string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := egress.New(allow).Do(req, 1<<20, "text")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"localhost", "127.0.0.1", "127.1.2.3", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1",
		"100.64.0.1", "169.254.169.254", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.9",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", // used by clouds
		"224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1", "192.0.0.8",
		"[::]", "[::1]", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]",
		"[::ffff:127.0.0.1]", "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[64:ff9b::8.8.8.8]", "[64:ff9b::a00:1]",
		"[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:808:808::]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]",
		"2130706433", "0x7f.0.0.1", "127.1", "0x7f000001", "127.0.0.1.",
	} {
		_, err := get(t, nil, "http://"+host+":1/")
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v; want it refused", host, err)
		}
	}
}

// Refused refuses a url before a request is sent, even if net/http spells its host differently.
func TestRefusedUnsent(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"10.0.0.1": true, "10\u30020\u30020\u30021": true, "\uff11\uff12\uff17.0.0.1": true, "hooks.example": false, "b\u00fccher.example": false,
		"localhost": true, "a.LOCALHOST.": true, "notlocalhost": false, "8.8.8.8": false, "[2606:4700::1111]": false, "[64:ff9b::8.8.8.8]": true,
	} {
		if err := egress.New(nil).Refused(&url.URL{Scheme: "http", Host: host}); fault.Is(err, fault.Invalid) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
	nat64 := []netip.Prefix{netip.MustParsePrefix("64:ff9b::/96")}
	if err := egress.New(nat64).Refused(&url.URL{Scheme: "http", Host: "[64:ff9b::8.8.8.8]"}); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

func TestAllowedAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, host string
		refused     bool
	}{
		{"127.0.0.0/8", "127.0.0.1", false},
		{"127.0.0.0/8", "[::ffff:127.0.0.1]", false},
		{"127.0.0.0/8", "[::1]", true},
		{"10.0.0.0/8", "127.0.0.1", true},
		{"64:ff9b::/96", "[64:ff9b::10.0.0.1]", true},
		{"fe80::/10", "[fe80::1%25lo]", false},
		{"::ffff:0:0/96", "[::ffff:10.0.0.1]", true},
	} {
		_, err := get(t, []netip.Prefix{netip.MustParsePrefix(c.allow)}, "http://"+c.host+":1/")
		if got := fault.Is(err, fault.Invalid); got != c.refused {
			t.Errorf("%s with %v allowed: %v; want refused %v", c.host, c.allow, err, c.refused)
		}
	}
}

func TestRefusedScheme(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"file:///etc/passwd", "ftp://example.org/", "git://example.org/", "unix:///run/x"} {
		if _, err := get(t, loopback, url); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v; want it refused", url, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+r.Header.Get("Referer"))
	})
	to := func(url string) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, url, http.StatusFound)
		})
	}
	body, err := get(t, loopback, to(other)+"/?token=t0k", "Authorization", "Basic c2VjcmV0")
	if err != nil || body != "" {
		t.Errorf("the other origin saw %q, error %v", body, err)
	}
	for _, inside := range []string{"http://10.0.0.1/", "http://[::1]:1/", "http://[::ffff:10.0.0.1]/", "gopher://x/"} {
		if _, err := get(t, loopback, to(inside)); !fault.Is(err, fault.Invalid) {
			t.Errorf("redirect to %s: %v; want it refused", inside, err)
		}
	}
	_, err = get(t, loopback, to("http://joe:s3cret@no.such.invalid/"))
	if got := fault.Of(err)[0].Detail; got != "no.such.invalid does not resolve." {
		t.Errorf("redirect to what does not resolve: %q", got)
	}
}

// A url may be written with a query that a request line cannot hold.
func TestQueryIsEscaped(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			w.Header().Set("Location", "/?"+strings.ReplaceAll(r.URL.RawQuery, "%20", " "))
			w.WriteHeader(http.StatusFound)
		} else if r.URL.Query().Get("a") != "ü b%" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	for _, path := range []string{"/", "/moved"} {
		if _, err := get(t, loopback, server+path+"?a=ü b%25"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if status, class := egress.NewForWebhooks(loopback).Post(t.Context(), server+"?a=ü b%25", nil, nil); status != http.StatusOK || class != "" {
		t.Errorf("posted: %d, %q", status, class)
	}
}

// At most five redirects are followed, each over a connection of its own.
func TestManyRedirects(t *testing.T) {
	t.Parallel()
	var from sync.Map
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, again := from.LoadOrStore(r.RemoteAddr, true); again {
			t.Error("a connection is used again")
		}
		if n, _ := strconv.Atoi(r.URL.Path[1:]); n > 0 {
			http.Redirect(w, r, strconv.Itoa(n-1), http.StatusFound)
		}
	})
	for n, refused := range map[int]bool{5: false, 6: true} {
		if _, err := get(t, loopback, server+"/"+strconv.Itoa(n)); fault.Is(err, fault.UpstreamUnavailable) != refused {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// Authorization goes only to the origin that it was given for.
func TestRedirectsWithAuthorization(t *testing.T) {
	t.Parallel()
	redirect := func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}
	home, other := serve(t, redirect), serve(t, redirect)
	name := strings.Replace(home, "127.0.0.1", "localhost", 1)
	upper := strings.Replace(home, "127.0.0.1", "LOCALHOST", 1)
	for _, c := range []struct {
		from, to string
		sent     bool
	}{
		{home, "/again", true},
		{upper, name, true},
		{name, upper, true},
		{name, upper + "?to=" + name, true},
		{name, home, false},
		{home, other, false},
		{home, other + "?to=" + home, false},
		{name, strings.Replace(name, "://", "://a.", 1), false},
	} {
		body, err := get(t, loopback, c.from+"?to="+url.QueryEscape(c.to), "Authorization", "Basic c2VjcmV0")
		if sent := body != ""; sent != c.sent || sent && body != "Basic c2VjcmV0" {
			t.Errorf("%s to %s: sent %q, error %v", c.from, c.to, body, err)
		}
	}
}

func TestErrorsTellNoSecret(t *testing.T) {
	t.Parallel()
	broken := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for _, base := range []string{broken, "http://no.such.invalid", "http://10.0.0.1"} {
		_, err := get(t, loopback, strings.Replace(base, "://", "://joe:s3cret@", 1)+"/path?token=s3cret")
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "joe") {
			t.Errorf("%s: error %v", base, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   fault.Kind
	}{
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20+1))
		}, fault.Invalid},
		"gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = gzip.NewWriter(w).Write(make([]byte, 1<<24))
		}, fault.UpstreamUnavailable},
		"headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}, fault.UpstreamUnavailable},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
		}, fault.UpstreamUnavailable},
		"404": {http.NotFound, fault.UpstreamUnavailable},
		"503": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, fault.UpstreamUnavailable},
	} {
		if _, err := get(t, loopback, serve(t, c.answer)); !fault.Is(err, c.want) {
			t.Errorf("%s: %v; want kind %d", name, err, c.want)
		}
	}
	exact := strings.Repeat("x", 1<<20)
	body, err := get(t, loopback, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "identity")
		_, _ = io.WriteString(w, exact)
	}))
	if err != nil || body != exact {
		t.Errorf("an answer of exactly the limit: %d bytes, %v", len(body), err)
	}
}

// The log says which host's certificate is wrong, and how.
func TestCauseNamesTheHost(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	_, err := get(t, loopback, strings.Replace(server.URL, "://", "://joe:s3cret@", 1))
	if got := fmt.Sprint(fault.Of(err)[0].Cause); !strings.HasPrefix(got, server.Listener.Addr().String()+": tls: failed to verify certificate") {
		t.Errorf("%v: %s", err, got)
	}
}

// The client ignores the proxy of the environment: it would dial the proxy instead of the host, without the check.
func TestNoProxy(t *testing.T) {
	t.Parallel()
	const url = "http://no.such.invalid/"
	if body, err := get(t, loopback, url); !fault.Is(err, fault.UpstreamUnavailable) {
		t.Errorf("%q, %v", body, err)
	}
	if status, class := egress.NewForWebhooks(loopback).Post(t.Context(), url, nil, nil); class != egress.ErrorAddress {
		t.Errorf("%d, %s", status, class)
	}
}

// An event goes only to http or https, and not to an address of this machine.
func TestPostIsRefused(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, url := range []string{"gopher" + strings.TrimPrefix(server, "http"), server, "http://[bad"} {
		if status, class := egress.NewForWebhooks(nil).Post(t.Context(), url, nil, nil); status != 0 || class != egress.ErrorAddress {
			t.Errorf("%s: %d, %q", url, status, class)
		}
	}
}

// A redirect is a response like others, wherever it leads.
func TestPostFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{r.URL.Query().Get("to")}
		w.WriteHeader(http.StatusFound)
	})
	for _, to := range []string{"", "/", "http://[bad", "https://elsewhere.example/"} {
		if status, class := egress.NewForWebhooks(loopback).Post(t.Context(), server+"/?to="+url.QueryEscape(to), nil, nil); status != http.StatusFound || class != "" {
			t.Errorf("%q: %d, %q", to, status, class)
		}
	}
}

// A receiver that switches protocols cannot hold a request up: its connection is closed at once.
func TestPostSwitchesNoProtocols(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 1)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { closed <- upstreamtest.SwitchProtocols(w) })
	status, class := egress.NewForWebhooks(loopback).Post(t.Context(), server, nil, nil)
	if err := <-closed; status != http.StatusSwitchingProtocols || class != "" || err != nil {
		t.Errorf("%d, %q; then the receiver reads %v", status, class, err)
	}
}

// Later events of a webhook reuse its connection, whatever the responses were; a connection that the server has closed
// meanwhile is no failure.
func TestPostKeepsItsConnection(t *testing.T) {
	t.Parallel()
	var dialed atomic.Int64
	answers := []string{"", "thanks", strings.Repeat("x", 4<<10), strings.Repeat("x", 1<<20)} // the last one is not read to its end
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, sent := r.Header["Idempotency-Key"]; sent {
			t.Error("it has an Idempotency-Key")
		}
		answer := answers[r.ContentLength]
		if r.URL.Path == "/chunked" {
			_ = http.NewResponseController(w).Flush()
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		}
		_, _ = io.WriteString(w, answer)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			dialed.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := egress.NewForWebhooks(loopback)
	post := func(path string, answer int) {
		t.Helper()
		if status, class := c.Post(t.Context(), server.URL+path, nil, make([]byte, answer)); status != http.StatusOK || class != "" {
			t.Fatal(status, class)
		}
	}
	for _, path := range []string{"/", "/chunked"} {
		dialed.Store(0)
		for range 10 {
			post(path, 0)
			post(path, 1)
			post(path, 2)
		}
		if n := dialed.Load(); n > 10 { // on a busy machine, some may come too late
			t.Errorf("%s: %d connections for 30 events", path, n)
		}
		dialed.Store(0)
		for range 5 {
			post(path, 3)
		}
		if n := dialed.Load(); n < 4 {
			t.Errorf("%s: %d connections for 5 events whose answers are too long", path, n)
		}
	}
	for range 20 {
		server.CloseClientConnections()
		post("/", 1)
	}
}
