// Package seal encrypts data under the server's secret.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// Key derives 32 bytes from the server's secret (FOYER_SECRET) by HKDF-SHA256. Each purpose has a key of its own.
func Key(serverSecret, purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, []byte(serverSecret), nil, purpose, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key for %s: %w", purpose, err)
	}
	return key, nil
}

// Box seals texts for one purpose: AES-256-GCM with random nonces, under the Key for it. Without a secret, Seal and Open
// fail.
type Box struct {
	Secret  string // the server's
	Purpose string
}

// ErrNoSecret is the error of a Box without a secret.
var ErrNoSecret = errors.New("this needs the secret, which is not there: set FOYER_SECRET, or put it into the data folder, as the server has it")

var encoding = base64.RawURLEncoding.Strict()

// Seal returns text that only Open can decrypt, with the same bound bytes.
func (b Box) Seal(plain, bound []byte) (string, error) {
	aead, err := b.aead()
	if err != nil {
		return "", err
	}
	return encoding.EncodeToString(aead.Seal(nil, nil, plain, bound)), nil
}

// Open returns the plain text that Seal got. Only one spelling of a sealed text is valid, so that a used one can be
// recognized.
func (b Box) Open(text string, bound []byte) ([]byte, error) {
	aead, err := b.aead()
	if err != nil {
		return nil, err
	}
	sealed, err := encoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(text) != encoding.EncodedLen(len(sealed)) {
		return nil, errors.New("it has line breaks") // the decoder skips them
	}
	return aead.Open(nil, nil, sealed, bound)
}

func (b Box) aead() (cipher.AEAD, error) {
	if b.Secret == "" {
		return nil, ErrNoSecret
	}
	key, err := Key(b.Secret, b.Purpose)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key for %s: %w", b.Purpose, err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
