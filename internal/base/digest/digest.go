// Package digest names a text by its SHA-256: what is stored of a secret, or tells two files apart.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// SHA256 is the SHA-256 of a text in hexadecimal digits.
func SHA256[T string | []byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
