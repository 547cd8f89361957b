package oidc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// google answers as Google does, whose tokens may name their issuer without https://.
type google struct {
	key    *rsa.PrivateKey
	issuer string // in tokens
}

// RoundTrip implements http.RoundTripper.
func (g google) RoundTrip(r *http.Request) (*http.Response, error) {
	const at = "https://accounts.google.com"
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/token":
		claims := fmt.Sprintf(`{"iss": %q, "aud": "foyer", "sub": "1", "nonce": "n", "exp": %d, "email": "ada@x.example", "email_verified": true}`,
			g.issuer, time.Now().Add(time.Hour).Unix())
		content := encoded([]byte(`{"alg": "RS256", "kid": "k"}`)) + "." + encoded([]byte(claims))
		sum := sha256.Sum256([]byte(content))
		signature, err := rsa.SignPKCS1v15(rand.Reader, g.key, crypto.SHA256, sum[:])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(w, `{"access_token": "a", "token_type": "Bearer", "id_token": "%s.%s"}`, content, encoded(signature))
	case "/keys":
		fmt.Fprintf(w, `{"keys": [{"kty": "RSA", "kid": "k", "n": %q, "e": "AQAB"}]}`, encoded(g.key.N.Bytes()))
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": at, "authorization_endpoint": at, "token_endpoint": at + "/token", "jwks_uri": at + "/keys"})
	}
	return w.Result(), nil
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// However Google writes its name in a token, an account there is the same one.
func TestGoogleIsOneIssuer(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	const issuer = "https://accounts.google.com"
	for _, name := range []string{issuer, strings.TrimPrefix(issuer, "https://")} {
		p := New(Settings{Issuer: issuer, ClientID: "foyer"}, time.Now)
		p.client = &http.Client{Transport: google{key, name}}
		if c, err := p.Redeem(t.Context(), "code", Secrets{Nonce: "n"}); err != nil || c.Issuer != issuer {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
