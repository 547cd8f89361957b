package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"foyer/internal/fault"
)

// SessionTime is how long a browser stays signed in.
const SessionTime = 12 * time.Hour

// Sessions lets browsers keep a key without knowing it: they get it sealed (AES-256-GCM under
// a key derived from the server's secret by HKDF-SHA256), with the end of its time. Nothing of
// a session is stored; it ends at the latest when its key does.
type Sessions struct{ aead cipher.AEAD }

// NewSessions derives the key from the server's secret (FOYER_SECRET).
func NewSessions(serverSecret string) (Sessions, error) {
	key, err := hkdf.Key(sha256.New, []byte(serverSecret), nil, "foyer sessions v1", 32)
	if err != nil {
		return Sessions{}, fmt.Errorf("derive the key for sessions: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sessions{}, fmt.Errorf("key for sessions: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return Sessions{}, fmt.Errorf("key for sessions: %w", err)
	}
	return Sessions{aead}, nil
}

var sessionText = base64.RawURLEncoding.Strict()

// Seal returns a session for a key that ends SessionTime after now.
func (s Sessions) Seal(key string, now time.Time) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(now.Add(SessionTime).Unix()))
	return sessionText.EncodeToString(s.aead.Seal(nil, nil, append(plain, key...), nil))
}

var errNoSession = fault.New(fault.NotAuthenticated, "Your session is over: sign in again.")

// Open returns the key of a session. One that is over, and whatever else is no session of
// this secret, is refused with one answer.
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
