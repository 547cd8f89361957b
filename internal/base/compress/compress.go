// Package compress makes, once, the compressed form of what is served many times.
package compress

import (
	"bytes"
	"compress/gzip"
)

// Gzip is body in the format of RFC 1952.
func Gzip(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	return out.Bytes()
}
