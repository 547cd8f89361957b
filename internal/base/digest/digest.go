// Package digest computes the SHA-256 of a text, to store in place of a secret or to compare files.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// SHA256 returns the SHA-256 of a text in hexadecimal digits.
func SHA256[T string | []byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
