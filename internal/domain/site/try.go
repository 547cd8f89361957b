package site

import (
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"time"

	"foyer/internal/base/seal"
)

// tryTime is how long the link to a try page works.
const tryTime = time.Hour

// Tries makes the keys of try pages, sealed: whoever has not been to the console sees none. The zero
// Tries opens nothing.
type Tries struct{ aead cipher.AEAD }

// NewTries derives the key from the server's secret (FOYER_SECRET).
func NewTries(serverSecret string) (Tries, error) {
	aead, err := seal.New(serverSecret, "foyer try pages v1")
	return Tries{aead}, err
}

var tryText = base64.RawURLEncoding.Strict()

// Seal returns the key of a site's try page, which ends an hour after now.
func (t Tries) Seal(siteToken string, now time.Time) string {
	if t.aead == nil {
		return ""
	}
	plain := binary.BigEndian.AppendUint64(nil, uint64(now.Add(tryTime).Unix()))
	return tryText.EncodeToString(t.aead.Seal(nil, nil, append(plain, siteToken...), nil))
}

// opens reports whether a key is that of a site's try page, and is not over.
func (t Tries) opens(key, siteToken string, now time.Time) bool {
	sealed, err := tryText.DecodeString(key)
	if err != nil || t.aead == nil {
		return false
	}
	plain, err := t.aead.Open(nil, nil, sealed, nil)
	return err == nil && len(plain) > 8 && string(plain[8:]) == siteToken && now.Unix() < int64(binary.BigEndian.Uint64(plain))
}
