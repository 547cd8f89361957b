// Package compress compresses texts that are served many times, once each.
package compress

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
)

// Gzip returns body in the format of RFC 1952.
func Gzip(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // writing to memory cannot fail
	_ = w.Close()
	return out.Bytes()
}

// Text can be served plain or compressed. Each form is made on first use.
type Text struct{ Plain, Compressed func() []byte }

// New returns a Text whose plain form is made by one call of plain.
func New(plain func() []byte) Text {
	plain = sync.OnceValue(plain)
	return Text{plain, sync.OnceValue(func() []byte { return Gzip(plain()) })}
}

// Of returns a Text of body, and compresses it immediately.
func Of(body []byte) Text {
	text := New(func() []byte { return body })
	text.Compressed()
	return text
}

// Size returns the size of both forms together, in bytes.
func (t Text) Size() int { return len(t.Plain()) + len(t.Compressed()) }

// Embedded returns a text that go generate compressed with Gzip: long texts take a fifth of their size in the program.
func Embedded(compressed []byte) Text {
	unpack := func() []byte {
		r, err := gzip.NewReader(bytes.NewReader(compressed))
		if err != nil {
			panic(fmt.Errorf("embedded: %w", err))
		}
		text, err := io.ReadAll(r)
		if err != nil {
			panic(fmt.Errorf("embedded: %w", err))
		}
		return text
	}
	return Text{sync.OnceValue(unpack), func() []byte { return compressed }}
}
