package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"
)

// KeyPrefix is what every key begins with.
const KeyPrefix = "foy_"

// A key is KeyPrefix, 37 random base62 characters, and the CRC32 (IEEE) of those
// in 6 more, so that a mistyped one is refused without a look-up.
const (
	keyRandom   = 37
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewKey makes a key at random.
func NewKey() string {
	digits := make([]byte, keyRandom)
	for i := range digits {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(base62))))
		if err != nil {
			panic(err) // crypto/rand never fails
		}
		digits[i] = base62[n.Int64()]
	}
	sum := checksum(string(digits))
	return KeyPrefix + string(digits) + string(sum[:])
}

// WellFormed reports whether key has the form of a key and the right checksum.
func WellFormed(key string) bool {
	rest, ok := strings.CutPrefix(key, KeyPrefix)
	if !ok || len(rest) != keyRandom+keyChecksum {
		return false
	}
	random := rest[:keyRandom]
	sum := checksum(random)
	return strings.Trim(random, base62) == "" && string(sum[:]) == rest[keyRandom:]
}

func checksum(random string) (digits [keyChecksum]byte) {
	sum := crc32.ChecksumIEEE([]byte(random))
	for i := keyChecksum - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return digits
}

// prefixSize is how much of a key is stored as text, so that its user can recognize it: KeyPrefix and 8 of its 37
// random characters.
const prefixSize = 12

// Prefix returns the part of a key that may be shown where the key itself may not, such as in a log.
func Prefix(key string) string { return key[:min(prefixSize, len(key))] }

// hash is what is stored of a key, or of the token of a session.
type hash [sha256.Size]byte

func hashOf(key string) hash { return sha256.Sum256([]byte(key)) }

func (h hash) String() string { return hex.EncodeToString(h[:]) }
