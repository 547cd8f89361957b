// Package seal keeps things from those who have not the server's secret.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// New returns what seals for one purpose: AES-256-GCM with random nonces, under a key derived
// from the server's secret (FOYER_SECRET) by HKDF-SHA256, which no other purpose has.
func New(serverSecret, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(serverSecret), nil, purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key for %s: %w", purpose, err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key for %s: %w", purpose, err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("key for %s: %w", purpose, err)
	}
	return aead, nil
}
