// Package seal hides things from all who lack the server's secret.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

// Key derives 32 bytes for one purpose, which no other has, from the server's secret
// (FOYER_SECRET) by HKDF-SHA256.
func Key(serverSecret, purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, []byte(serverSecret), nil, purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key for %s: %w", purpose, err)
	}
	return key, nil
}

// New returns the cipher for one purpose: AES-256-GCM with random nonces, under its Key.
func New(serverSecret, purpose string) (cipher.AEAD, error) {
	key, err := Key(serverSecret, purpose)
	if err != nil {
		return nil, err
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
