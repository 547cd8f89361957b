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

// Text is served as it is, or compressed. Each form is made when it is first asked for.
type Text struct{ Plain, Compressed func() []byte }

// New returns what plain makes, once.
func New(plain func() []byte) Text {
	plain = sync.OnceValue(plain)
	return Text{plain, sync.OnceValue(func() []byte { return Gzip(plain()) })}
}

// Of returns a body whose compressed form is made at once.
func Of(body []byte) Text {
	text := New(func() []byte { return body })
	text.Compressed()
	return text
}

// Size is how many bytes both forms have.
func (t Text) Size() int { return len(t.Plain()) + len(t.Compressed()) }

// Embedded returns the text that go generate has compressed with Gzip: a program carries its long
// texts in a fifth of their size.
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
