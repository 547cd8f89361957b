// Package oidc authenticates people at an identity provider, by OpenID Connect: the code flow with PKCE, state and nonce.
package oidc

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"foyer/internal/base/fault"
	"foyer/internal/base/flight"
	"foyer/internal/base/plaintext"
)

const (
	// patience is the timeout of one step, including all requests to the provider.
	patience = 10 * time.Second
	// keptFor is how long the provider's metadata and keys are cached. An unknown key is requested immediately.
	keptFor = time.Hour
	// maxAnswer limits the size of a provider's response, in bytes, and with it the memory and the number of keys.
	maxAnswer = 64 << 10
	// maxModulus is the length of an RSA key's modulus of 18,000 bits in JSON. A key of 500,000 bits takes over a minute
	// of processor time, which no context cancels.
	maxModulus = 3 << 10
)

// Settings say which provider to use, and as which client.
type Settings struct {
	Issuer                 string
	ClientID, ClientSecret string
	Scopes                 []string
	Redirect               string // the url that the provider sends people back to
}

// Provider is an identity provider. Its metadata is requested when somebody first signs in, so that a provider that is
// down does not stop the server from starting.
type Provider struct {
	settings Settings
	now      func() time.Time
	client   *http.Client
	patience time.Duration
	flight   flight.Group[*discovered]
	known    atomic.Pointer[discovered]
}

// discovered is the metadata of a provider.
type discovered struct {
	at       time.Time
	config   oauth2.Config
	verifier *gooidc.IDTokenVerifier
	provider *gooidc.Provider
}

// New returns the provider described by the settings.
func New(s Settings, now func() time.Time) *Provider {
	direct := &http.Transport{ForceAttemptHTTP2: true, TLSHandshakeTimeout: patience, MaxIdleConns: 2, IdleConnTimeout: time.Minute}
	return &Provider{
		settings: s, now: now, patience: patience,
		client: &http.Client{
			Transport: bounded{direct}, Timeout: patience,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// bounded refuses long responses, and keys that take long to process.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols { // then no context ends a read of the body
		return nil, errors.New(res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if len(body) > maxAnswer {
		err = fmt.Errorf("%s, with more than %d bytes", res.Status, maxAnswer)
	}
	if err == nil {
		err = checkKeys(body)
	}
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// checkKeys checks the keys in a response, if it has any. It refuses private keys: they are slow too, and must not be
// published.
func checkKeys(answer []byte) error {
	var set struct {
		Keys []map[string]json.RawMessage `json:"keys"`
	}
	_ = json.Unmarshal(answer, &set) // the OIDC library finds no keys either in what this cannot parse
	for _, key := range set.Keys {
		if key["d"] != nil || len(key["n"]) > maxModulus {
			return errors.New("it publishes a private key, or one of more than 18,000 bits")
		}
	}
	return nil
}

// Secrets bind the provider's redirect to the browser that was sent there.
type Secrets struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
}

// URL returns the url to send a browser to for signing in.
func (p *Provider) URL(ctx context.Context, s Secrets) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return d.config.AuthCodeURL(s.State, gooidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)), nil
}

// Claims are what the provider says about a person.
type Claims struct {
	Issuer        string `json:"issuer"`
	Subject       string `json:"subject"`
	Email         string `json:"email"`
	EmailVerified bool   `json:"email_verified"`
}

// claims are some fields of a token or of a userinfo response.
type claims struct {
	AuthorizedParty string          `json:"azp"`
	Email           string          `json:"email"`
	EmailVerified   json.RawMessage `json:"email_verified"` // trusted if true, not if "true"
}

// Redeem returns the claims about the person who came back with a code.
func (p *Provider) Redeem(ctx context.Context, code string, s Secrets) (Claims, error) {
	ctx, cancel := context.WithTimeout(gooidc.ClientContext(ctx, p.client), p.patience)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return Claims{}, err
	}
	token, err := d.config.Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return Claims{}, refusedCode(ctx, err)
	}
	raw, _ := token.Extra("id_token").(string)
	verified, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return Claims{}, failed(ctx, err)
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(s.Nonce)) != 1 {
		return Claims{}, fault.New(fault.Invalid, "The identity provider's answer belongs to another attempt to sign in: begin again.")
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return Claims{}, failed(ctx, err)
	}
	if c.AuthorizedParty != "" && c.AuthorizedParty != p.settings.ClientID || !named(verified.Subject) {
		return Claims{}, failed(ctx, errors.New("the token was made for another client, or names nobody"))
	}
	if (c.Email == "" || c.EmailVerified == nil) && d.provider.UserInfoEndpoint() != "" { // the provider may leave either out of tokens
		info, err := p.userInfo(ctx, d, token, verified.Subject)
		if err != nil {
			return Claims{}, err
		}
		if info.Email != "" { // never one's address with the other's word for it
			c = info
		}
	}
	return Claims{Issuer: p.settings.Issuer, Subject: verified.Subject, Email: c.Email, EmailVerified: string(c.EmailVerified) == "true"}, nil
}

// named reports whether a subject is valid: at most 255 characters (OpenID Connect Core section 2), no control
// characters.
func named(subject string) bool {
	return subject != "" && utf8.RuneCountInString(subject) <= 255 && !strings.ContainsFunc(subject, unicode.IsControl)
}

func (p *Provider) userInfo(ctx context.Context, d *discovered, token *oauth2.Token, subject string) (c claims, err error) {
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err == nil {
		err = info.Claims(&c)
	}
	if err == nil && info.Subject != subject { // OpenID Connect Core section 5.3.2
		err = errors.New("the userinfo endpoint answered about somebody else")
	}
	if err != nil {
		return claims{}, failed(ctx, err)
	}
	return c, nil
}

// discover returns the provider's metadata. Old metadata stays valid while the provider is down or does not respond: its
// timeout is short then, so that time is left for the rest of the step.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	known := p.known.Load()
	if known != nil && p.now().Sub(known.at).Abs() < keptFor { // the clock may step back
		return known, nil
	}
	wait := ctx
	if known != nil {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, p.patience/5)
		defer cancel()
	}
	d, err := p.flight.Do(wait, "", p.ask)
	switch {
	case err == nil:
		return d, nil
	case known != nil:
		return known, nil
	}
	return nil, failed(ctx, err)
}

func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	ctx, cancel := context.WithTimeout(gooidc.ClientContext(ctx, p.client), p.patience)
	defer cancel()
	provider, err := gooidc.NewProvider(ctx, p.settings.Issuer)
	if err != nil {
		return nil, err
	}
	var also struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&also); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	addresses := []string{endpoint.AuthURL, endpoint.TokenURL, also.Keys}
	if provider.UserInfoEndpoint() != "" {
		addresses = append(addresses, provider.UserInfoEndpoint())
	}
	for _, address := range addresses {
		if !safe(address, p.settings.Issuer) {
			return nil, fmt.Errorf("it names the address %q, which is neither https nor, like itself, http on this machine", address)
		}
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(also.Methods) > 0 && !slices.Contains(also.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	d := &discovered{
		at: p.now(), provider: provider,
		config: oauth2.Config{
			ClientID: p.settings.ClientID, ClientSecret: p.settings.ClientSecret, Endpoint: endpoint,
			RedirectURL: p.settings.Redirect, Scopes: p.settings.Scopes,
		},
		verifier: provider.Verifier(&gooidc.Config{
			ClientID: p.settings.ClientID, SupportedSigningAlgs: []string{gooidc.RS256, gooidc.ES256}, Now: p.now,
		}),
	}
	p.known.Store(d)
	return d, nil
}

// safe reports whether nobody on the network can change the responses of an address, and whether a remote provider may
// name it.
func safe(address, issuer string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	plain := u.Scheme == "http" && strings.HasPrefix(issuer, "http:")
	return u.Scheme == "https" || plain && (u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback())
}

// refusedCode is the fault for a code that was not exchanged for a token. It shows nothing else that the provider says,
// which may hold secrets.
func refusedCode(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return failed(ctx, err)
	case refused.ErrorCode == "invalid_grant":
		return fault.New(fault.Invalid, "The identity provider does not accept the code that your browser came back with: it was already used, or is too old. Begin again.")
	}
	return failed(ctx, fmt.Errorf("the token endpoint answered %d %.40q", refused.Response.StatusCode, refused.ErrorCode))
}

// maxCause is how many characters of the reason for a failure are logged: the libraries quote whole pages of a provider,
// and anybody can ask for a sign-in.
const maxCause = 500

// failed is the fault of a provider that does not respond, or responds wrongly.
func failed(ctx context.Context, err error) error {
	cause := errors.New("identity provider: " + plaintext.VisibleLine(err.Error(), maxCause))
	timeout, ok := errors.AsType[net.Error](err)
	if ctx.Err() != nil || ok && timeout.Timeout() {
		return &fault.Error{Kind: fault.UpstreamTimeout, Detail: "The identity provider does not answer in time: try again later, or sign in another way.", Cause: cause}
	}
	return &fault.Error{Kind: fault.UpstreamUnavailable, Detail: "The identity provider does not answer, or answers wrongly: try again later, or sign in another way.", Cause: cause}
}
