// Package compress makes, once, the compressed form of what is served many times.
package compress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

// Gzip is body in the format of RFC 1952.
func Gzip(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	return out.Bytes()
}

// Embedded is the text of what go generate has compressed with Gzip, unpacked when it is first
// asked for: a program carries its long texts in a fifth of their size.
func Embedded(compressed []byte) func() []byte {
	return sync.OnceValue(func() []byte {
		r, err := gzip.NewReader(bytes.NewReader(compressed))
		if err != nil {
			panic(fmt.Errorf("embedded: %w", err))
		}
		text, err := io.ReadAll(r)
		if err != nil {
			panic(fmt.Errorf("embedded: %w", err))
		}
		return text
	})
}
