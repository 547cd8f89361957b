package upstream

import (
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"foyer/internal/base/seal"
)

// Sealer encrypts the secret part of Remotes for the database. A nil one serves only
// Remotes without a secret part.
type Sealer struct{ aead cipher.AEAD }

// errNoSecret is what a nil Sealer has to say.
var errNoSecret = errors.New("credentials of an upstream are kept sealed under the secret, which is not there: set FOYER_SECRET, or put it into the data folder")

var errOtherSecret = badURL("The credentials of the url cannot be read: FOYER_SECRET is not the one that the app was installed with. " +
	"Set it back, or give them anew (foyer admin app credentials).")

// NewSealer derives the key from the server's secret (FOYER_SECRET).
func NewSealer(serverSecret string) (*Sealer, error) {
	aead, err := seal.New(serverSecret, "foyer upstream credentials v1")
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

// Seal returns r's secret as text for the database, "" if r has none. It opens
// only for the same place, so that nobody who can write to the database can have
// the server send one host's credentials to another.
func (s *Sealer) Seal(r Remote) (string, error) {
	if r.secret == nil {
		return "", nil
	}
	if s == nil {
		return "", errNoSecret
	}
	return base64.RawStdEncoding.EncodeToString(s.aead.Seal(nil, nil, r.secretJSON(), []byte(r.Key()))), nil
}

// Open puts a Remote together again from its URL and what Seal returned. What was
// sealed under another secret is an Invalid fault on "url".
func (s *Sealer) Open(cleanURL, sealed string) (Remote, error) {
	remote := Remote{URL: cleanURL}
	if sealed == "" {
		return remote, nil
	}
	if s == nil {
		return Remote{}, errNoSecret
	}
	data, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return Remote{}, fmt.Errorf("sealed credentials of %s: %w", cleanURL, err)
	}
	plain, err := s.aead.Open(nil, nil, data, []byte(remote.Key()))
	if err != nil {
		return Remote{}, errOtherSecret
	}
	if err := json.Unmarshal(plain, &remote.secret); err != nil {
		return Remote{}, fmt.Errorf("sealed credentials of %s: %w", cleanURL, err)
	}
	return remote, nil
}
