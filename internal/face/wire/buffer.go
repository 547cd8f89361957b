package wire

import "sync"

// buffer is memory for one body, of a request or an answer: a page of apps is 67 kB.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// getBuffer returns an empty buffer. The caller puts it back once its body is done with.
func getBuffer() *buffer {
	buf := buffers.Get().(*buffer)
	buf.b = buf.b[:0]
	return buf
}

func (buf *buffer) put() {
	const maxKept = 1 << 20 // bytes that are worth keeping
	if cap(buf.b) <= maxKept {
		buffers.Put(buf)
	}
}
