package wire

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// ETag names one state of an object or a list.
type ETag [16]byte

// ETagOf returns the ETag of a text: its XXH64 and its length. A cryptographic digest would take a fifth of the time of
// answering a list, and gain nothing: ETags tell states apart and grant no permission.
func ETagOf(text []byte) (t ETag) {
	binary.BigEndian.PutUint64(t[:], xxhash.Sum64(text))
	binary.BigEndian.PutUint64(t[8:], uint64(len(text)))
	return t
}

// append appends the ETag as it is sent; a compressed answer has another one.
func (t ETag) append(b []byte, zipped bool) []byte {
	b = base64.RawURLEncoding.AppendEncode(append(b, '"'), t[:])
	if zipped {
		b = append(b, "-gzip"...)
	}
	return append(b, '"')
}

// In reports whether If-Match or, if weak ones count, If-None-Match names the ETag.
func (t ETag) In(condition []string, weak bool) bool {
	plain, compressed := t.String(), string(t.append(nil, true))
	if weak {
		return names(condition, plain, compressed, "W/"+plain, "W/"+compressed)
	}
	return names(condition, plain, compressed)
}

// names reports whether a condition names any of etags, or is *. Foreign ETags may contain commas, but no part of one
// equals one of ours.
func names(condition []string, etags ...string) bool {
	all := strings.Join(condition, ",")
	for one := range strings.SplitSeq(all, ",") {
		if slices.Contains(etags, strings.Trim(one, " \t")) {
			return true
		}
	}
	return strings.Trim(all, " \t") == "*"
}

// String returns the ETag as it is sent.
func (t ETag) String() string { return string(t.append(nil, false)) }

// ParseETag reads what String returns; anything else is the zero ETag.
func ParseETag(etag string) (t ETag) {
	b, err := base64.RawURLEncoding.DecodeString(strings.Trim(etag, `"`))
	if err == nil && len(b) == len(t) {
		copy(t[:], b)
	}
	return t
}
