package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"
)

// A key is keyPrefix, 37 random base62 characters, and the CRC32 (IEEE) of those
// in 6 more, so that a mistyped one is refused without a look-up.
const (
	keyPrefix   = "foy_"
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
	return keyPrefix + string(digits) + checksum(string(digits))
}

// WellFormed reports whether key can be one at all.
func WellFormed(key string) bool {
	rest, ok := strings.CutPrefix(key, keyPrefix)
	if !ok || len(rest) != keyRandom+keyChecksum {
		return false
	}
	random := rest[:keyRandom]
	for i := range len(random) {
		if strings.IndexByte(base62, random[i]) < 0 {
			return false
		}
	}
	return checksum(random) == rest[keyRandom:]
}

func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	var digits [keyChecksum]byte
	for i := keyChecksum - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return string(digits[:])
}

// hash is what is stored of a key.
type hash [sha256.Size]byte

func hashOf(key string) hash { return sha256.Sum256([]byte(key)) }

func (h hash) String() string { return hex.EncodeToString(h[:]) }
