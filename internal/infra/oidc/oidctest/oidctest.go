// Package oidctest is a small identity provider whose responses a test controls.
package oidctest

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/infra/oidc"
)

// Behaviour is how a provider responds.
type Behaviour struct {
	Claims     map[string]any // of the next tokens; they override the correct ones, nil leaves one out
	Algorithm  string         // RS256 ("" too), ES256, HS256 or none
	Key        string         // the name of the key to sign with, made if it is new; "": defaultKey
	HideKeys   bool           // publish no keys
	AlsoKeys   []any          // further keys to publish
	UserInfo   map[string]any // the response of the userinfo endpoint; nil: there is none
	Error      string         // sent back instead of a code
	Status     int            // of every response, if not 0
	Location   string         // where these responses redirect
	Silent     string         // the path that never gets a response; "all"
	Discovery  map[string]any // overrides fields of the provider's metadata
	PostSecret bool           // accept the client's secret only in the body
}

// Provider is a running identity provider with one client.
type Provider struct {
	URL string

	mu        sync.Mutex
	behaviour Behaviour
	codes     map[string]url.Values // the request that each code was made for
	keys      map[string]*rsa.PrivateKey
	curve     *ecdsa.PrivateKey
	asked     map[string]int
}

const (
	clientID, clientSecret = "foyer", "the secret of the client"
	defaultKey             = "first"
)

// firstKey is the key of all providers: making one during a request could take longer than the client's timeout.
var firstKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// Start runs a provider until the test ends.
func Start(tb testing.TB) *Provider {
	tb.Helper()
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	key, err := firstKey()
	if err != nil {
		tb.Fatal(err)
	}
	p := &Provider{codes: map[string]url.Values{}, keys: map[string]*rsa.PrivateKey{defaultKey: key}, curve: curve, asked: map[string]int{}}
	p.Behave(Behaviour{})
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("/authorize", p.authorize)
	mux.HandleFunc("/token", p.token)
	mux.HandleFunc("/keys", p.publish)
	mux.HandleFunc("/userinfo", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, p.current().UserInfo) })
	stopped := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[r.URL.Path]++
		b := p.behaviour
		p.mu.Unlock()
		switch {
		case b.Silent == "all" || b.Silent == r.URL.Path:
			select {
			case <-r.Context().Done():
			case <-stopped:
			}
		case b.Status != 0:
			w.Header().Set("Location", b.Location)
			w.WriteHeader(b.Status)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(func() {
		close(stopped)
		s.Close()
	})
	p.URL = s.URL
	return p
}

// Settings returns settings that use the provider.
func (p *Provider) Settings(redirect string) oidc.Settings {
	return oidc.Settings{Issuer: p.URL, ClientID: clientID, ClientSecret: clientSecret, Scopes: []string{"openid", "email"}, Redirect: redirect}
}

// Behave changes how the provider responds.
func (p *Provider) Behave(b Behaviour) {
	b.Key = cmp.Or(b.Key, defaultKey)
	p.key(b.Key) // make the key now if it is new
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behaviour = b
}

// Asked returns how often a path was requested.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

func (p *Provider) current() Behaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.behaviour
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	b := p.current()
	body := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
	}
	if b.UserInfo != nil {
		body["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	if b.PostSecret {
		body["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	}
	maps.Copy(body, b.Discovery)
	answer(w, http.StatusOK, body)
}

// authorize signs everybody in immediately.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil || query.Get("client_id") != clientID || query.Get("response_type") != "code" || !strings.HasPrefix(query.Get("scope"), "openid") || query.Get("code_challenge_method") != "S256" {
		http.Error(w, "a wrong request", http.StatusBadRequest)
		return
	}
	result := url.Values{"state": {query.Get("state")}}
	if b := p.current(); b.Error != "" {
		result.Set("error", b.Error)
	} else {
		code := rand.Text()
		p.mu.Lock()
		p.codes[code] = query
		p.mu.Unlock()
		result.Set("code", code)
	}
	back.RawQuery = result.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token accepts each code once, with the verifier of its challenge.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	b := p.current()
	id, secret, _ := r.BasicAuth()
	if b.PostSecret {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	given, err := url.QueryUnescape(secret) // RFC 6749 section 2.3.1
	if err != nil || id != clientID || given != clientSecret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	p.mu.Lock()
	asked, ok := p.codes[code]
	delete(p.codes, code)
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || text(sum[:]) != asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{
		"iss": p.URL, "aud": clientID, "sub": "1", "nonce": asked.Get("nonce"), "iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(),
		"email": "ada@x.example", "email_verified": true,
	}
	maps.Copy(claims, b.Claims)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	answer(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": p.sign(b, claims)})
}

func (p *Provider) publish(w http.ResponseWriter, _ *http.Request) {
	b := p.current()
	key := p.key(b.Key)
	public := []any{
		map[string]string{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": b.Key, "n": text(key.N.Bytes()), "e": text(big.NewInt(int64(key.E)).Bytes())},
		map[string]string{"kty": "EC", "alg": "ES256", "use": "sig", "kid": "curve", "crv": "P-256", "x": text(p.curve.X.FillBytes(make([]byte, 32))), "y": text(p.curve.Y.FillBytes(make([]byte, 32)))},
	}
	if b.HideKeys {
		public = nil
	}
	public = append(public, b.AlsoKeys...)
	answer(w, http.StatusOK, map[string]any{"keys": public})
}

func (p *Provider) key(name string) *rsa.PrivateKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys[name] == nil {
		made, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		p.keys[name] = made
	}
	return p.keys[name]
}

func (p *Provider) sign(b Behaviour, claims map[string]any) string {
	algorithm, kid := cmp.Or(b.Algorithm, "RS256"), b.Key
	if algorithm == "ES256" {
		kid = "curve"
	}
	content := part(map[string]string{"alg": algorithm, "typ": "JWT", "kid": kid}) + "." + part(claims)
	sum := sha256.Sum256([]byte(content))
	var signature []byte
	var err error
	switch algorithm {
	case "RS256":
		signature, err = rsa.SignPKCS1v15(rand.Reader, p.key(b.Key), crypto.SHA256, sum[:])
	case "ES256":
		var r, s *big.Int
		r, s, err = ecdsa.Sign(rand.Reader, p.curve, sum[:])
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "HS256":
		mac := hmac.New(sha256.New, []byte(clientSecret))
		mac.Write([]byte(content))
		signature = mac.Sum(nil)
	}
	if err != nil {
		panic(err)
	}
	return content + "." + text(signature)
}

func part(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text(b)
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
