package access

import (
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"time"

	"foyer/internal/fault"
	"foyer/internal/seal"
)

// SessionTime is how long a browser stays signed in.
const SessionTime = 12 * time.Hour

// Sessions lets browsers keep a key without knowing it: they get it sealed, with the end of its
// time. Nothing of a session is stored; it ends at the latest when its key does.
type Sessions struct{ aead cipher.AEAD }

// NewSessions derives the key from the server's secret (FOYER_SECRET).
func NewSessions(serverSecret string) (Sessions, error) {
	aead, err := seal.New(serverSecret, "foyer sessions v1")
	return Sessions{aead}, err
}

var sessionText = base64.RawURLEncoding.Strict()

// Seal returns a session for a key that ends SessionTime after now.
func (s Sessions) Seal(key string, now time.Time) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(now.Add(SessionTime).Unix()))
	return sessionText.EncodeToString(s.aead.Seal(nil, nil, append(plain, key...), nil))
}

var errNoSession = fault.New(fault.NotAuthenticated, "Your session is over: sign in again.")

// Open returns the key of a session. One that is over gets the same answer as a text that
// is no session of this secret.
func (s Sessions) Open(session string, now time.Time) (string, error) {
	sealed, err := sessionText.DecodeString(session)
	if err != nil {
		return "", errNoSession
	}
	plain, err := s.aead.Open(nil, nil, sealed, nil)
	if err != nil || len(plain) < 8 || now.Unix() >= int64(binary.BigEndian.Uint64(plain)) {
		return "", errNoSession
	}
	return string(plain[8:]), nil
}
