// Package egress is the only HTTP client for urls that people enter: on every dial, and so on every redirect, it refuses
// hosts inside the operator's network. It limits what a response can cost.
package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/limitedconn"
	"foyer/internal/base/origin"
)

const (
	// maxReceived is how many bytes one connection may receive for a request, headers and framing included, whatever body
	// size a caller of Do allows.
	maxReceived = 64 << 20

	maxHeaderBytes = 64 << 10
	maxRedirects   = 5
	dialTimeout    = 10 * time.Second

	// keptFor is how long a connection to a webhook's receiver stays idle before it is closed: shorter than servers keep
	// theirs. keptPerHost limits the idle connections to one host, and maxKept those to all hosts.
	keptFor     = 2 * time.Second
	keptPerHost = 8
	maxKept     = 256
	// maxAnswer is the longest response to Post after which its connection is reused.
	maxAnswer = 4 << 10
)

// Client sends requests to upstream hosts. It keeps no idle connections, except for webhooks for a moment. It uses no
// proxy and accepts no content coding. It sets no deadline: callers do, with the context of each request.
type Client struct {
	http  *http.Client
	allow allowList
}

// New returns a Client for apps. Addresses in allow (FOYER_UPSTREAM_ALLOW) are allowed although they are not public.
func New(allow []netip.Prefix) *Client {
	list := allowList{allow, "The url leads to an address that apps may not come from (%s). An operator can allow it with FOYER_UPSTREAM_ALLOW."}
	return newClient(list, &http.Transport{DisableKeepAlives: true})
}

// NewForWebhooks is New for webhooks (FOYER_WEBHOOK_ALLOW).
func NewForWebhooks(allow []netip.Prefix) *Client {
	list := allowList{allow, "The url leads to an address that webhooks are not sent to (%s). An operator can allow it with FOYER_WEBHOOK_ALLOW."}
	return newClient(list, &http.Transport{IdleConnTimeout: keptFor, MaxIdleConnsPerHost: keptPerHost, MaxIdleConns: maxKept})
}

// newClient returns a client that checks each address it dials. The transport has no proxy: the client would dial the
// proxy instead of the host, and could not check the host's address.
func newClient(allow allowList, transport *http.Transport) *Client {
	c := &Client{allow: allow, http: &http.Client{Transport: transport}}
	c.http.CheckRedirect = c.checkRedirect
	dialer := &net.Dialer{Timeout: dialTimeout, Control: c.control}
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return limitedconn.New(conn, maxReceived, errTooMuch), nil
	}
	transport.DisableCompression, transport.MaxResponseHeaderBytes = true, maxHeaderBytes
	return c
}

// Do sends req and returns a response with status 200 or 304; reading more than maxBytes of its body fails with a fault,
// which says what there is too much of. Every error caused by the host is a fault: Invalid on "url" for a refused scheme
// or address or a body that is too large, else UpstreamUnavailable. No error contains the url's path, query or
// credentials.
func (c *Client) Do(req *http.Request, maxBytes int64, what string) (*http.Response, error) {
	if err := c.Refused(req.URL); err != nil {
		return nil, err
	}
	escapeQuery(req.URL)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	host := resp.Request.URL.Host
	if err := checkAnswer(host, resp, req.URL); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: maxBytes, max: maxBytes, host: host, what: what}
	return resp, nil
}

// Classes of errors of Post.
const (
	ErrorAddress     = "address"     // a name that does not resolve, or a refused address
	ErrorCertificate = "certificate" // a certificate that cannot be verified
	ErrorTimeout     = "timeout"
	ErrorConnection  = "connection"
	ErrorInternal    = "internal" // a failure of this machine
)

// Post sends a body with some headers, and returns the status of the response, or a class of error. It follows no
// redirects and discards the response's body. It may send the request twice if a connection breaks.
func (c *Client) Post(ctx context.Context, to string, headers map[string]string, body []byte) (status int, class string) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: renew})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil || c.Refused(req.URL) != nil {
		return 0, ErrorAddress
	}
	escapeQuery(req.URL)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	req.Header["Idempotency-Key"] = nil // not sent, but net/http retries on another connection if the kept one was closed
	resp, err := c.http.Transport.RoundTrip(req)
	if err != nil {
		return 0, classOf(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols { // else the body is the connection itself, and ctx does not end a read
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer+1)) // to the end: otherwise the connection is not reused
	}
	return resp.StatusCode, ""
}

func classOf(err error) string {
	_, dns := errors.AsType[*net.DNSError](err)
	_, refused := errors.AsType[*fault.Error](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case lacksDescriptor(err):
		return ErrorInternal
	case isTimeout(err):
		return ErrorTimeout
	case dns || refused:
		return ErrorAddress
	case certificate:
		return ErrorCertificate
	}
	return ErrorConnection
}

func checkAnswer(host string, resp *http.Response, asked *url.URL) error {
	switch resp.StatusCode {
	case http.StatusOK, http.StatusNotModified:
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		if !SameOrigin(resp.Request, asked) {
			return fault.New(fault.UpstreamUnavailable, "%s answered %d: there is nothing there, or it needs credentials. %s redirects there, but credentials go only to the host and scheme that they were given for.",
				origin.Of(resp.Request.URL), resp.StatusCode, origin.Of(asked))
		}
		return fault.New(fault.UpstreamUnavailable,
			"%s answered %d: there is nothing at this url, or it needs other credentials.", host, resp.StatusCode)
	default:
		return fault.New(fault.UpstreamUnavailable, "%s answered %d.", host, resp.StatusCode)
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return fault.New(fault.UpstreamUnavailable, "%s answered with a content coding nobody asked for.", host)
	}
	return nil
}

// escapeQuery escapes, as browsers do, what a request line cannot hold: net/http sends a query as it is written, and hosts
// refuse a request with a space in its url.
func escapeQuery(u *url.URL) {
	var query strings.Builder
	for _, b := range []byte(u.RawQuery) {
		if b > ' ' && b <= '~' {
			query.WriteByte(b)
		} else {
			fmt.Fprintf(&query, "%%%02X", b)
		}
	}
	u.RawQuery = query.String()
}

// Refused returns the fault, on "url", for a url that is refused as written; the addresses of a name are checked when it
// is dialed.
func (c *Client) Refused(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fault.Field(fault.Invalid, "url", "The url must lead to http or https.")
	}
	return c.allow.checkHost(u.Hostname())
}

// control runs after a name is resolved and before the connection is made.
func (c *Client) control(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fault.Field(fault.Invalid, "url", "The url does not lead to an internet address.")
	}
	return c.allow.check(addr.Addr())
}

// checkRedirect sends no secret to another origin. It keeps Authorization only for the original origin, and only if no
// other origin redirected there: net/http itself sends the header to subdomains and from https to http, drops it when the
// spelling of the host changes case, and sends the previous url, query included, in Referer.
func (c *Client) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fault.New(fault.UpstreamUnavailable, "%s redirects more than %d times.", via[0].URL.Host, maxRedirects)
	}
	if err := c.Refused(req.URL); err != nil {
		return err
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return fault.Field(fault.Invalid, "url", "The url redirects from https to http.")
	}
	escapeQuery(req.URL)
	req.Header.Del("Referer")
	req.Header.Del("Authorization")
	if SameOrigin(req, via[0].URL) {
		req.Header["Authorization"] = via[0].Header["Authorization"]
	}
	return nil
}

// SameOrigin reports whether a request goes to home without a redirect through another origin, which could otherwise
// choose the url that gets a secret.
func SameOrigin(req *http.Request, home *url.URL) bool {
	for origin.Of(req.URL) == origin.Of(home) {
		if req.Response == nil {
			return true
		}
		req = req.Response.Request // the request that was redirected
	}
	return false
}

var errNoDescriptor = errors.New("no file descriptor is left to ask another host with")

// explain replaces an error of net/http, which contains the whole url, by one that contains no part of it: a fault,
// unless this machine caused the failure. It names the host that failed, which another one may have redirected to.
func explain(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	class := classOf(err)
	if class == ErrorInternal {
		return errNoDescriptor
	}
	host := "The host"
	if failed, ok := errors.AsType[*url.Error](err); ok { // as http.Client returns them
		if u, err := url.Parse(failed.URL); err == nil {
			host = u.Host
		}
	}
	problem := map[string]string{
		ErrorAddress:     "does not resolve",
		ErrorCertificate: "has a certificate that cannot be verified",
		ErrorTimeout:     "did not answer in time",
		ErrorConnection:  "could not be reached",
	}[class]
	return &fault.Error{Kind: fault.UpstreamUnavailable, Detail: host + " " + problem + ".", Cause: cause(host, err)}
}

// cause returns details for the operator, such as addresses that callers must not see; nil if they might contain the url.
func cause(host string, err error) error {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%s: %w", host, network)
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%s: %w", host, certificate)
	}
	return nil
}

// lacksDescriptor reports whether too many files were open in this process or on the machine. A DNS error has its cause
// only as text.
func lacksDescriptor(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || ok && strings.Contains(dns.Err, syscall.EMFILE.Error())
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
