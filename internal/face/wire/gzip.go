package wire

import (
	"bytes"
	"compress/gzip"
	"mime"
	"net/http"
	"strings"
	"sync"
)

// minGzip is how many bytes an answer has at least to be worth compressing.
const minGzip = 1 << 10

// Accepts reports whether a header that is a list with weights (RFC 9110 section 12.4.2), on one line or several, names a
// value and does not refuse it by q=0.
func Accepts(r *http.Request, header, value string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
		name, params, err := mime.ParseMediaType(part)
		if err == nil && name == value && (params["q"] == "" || strings.Trim(params["q"], "0.") != "") {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether a client takes gzip.
func acceptsGzip(r *http.Request) bool { return Accepts(r, "Accept-Encoding", "gzip") }

// compressors are writers at the level that costs least: answers are made for one request.
var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of gzip's
	}
	return w
}}

// compressed is a text in the format of RFC 1952.
func compressed(text []byte) []byte {
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	to := bytes.NewBuffer(make([]byte, 0, len(text)/4))
	w.Reset(to)
	_, _ = w.Write(text) // into memory
	_ = w.Close()
	w.Reset(nil) // or it would keep what it wrote
	return to.Bytes()
}

// Encode returns the body of an answer as its client takes it, compressed or not, and names the
// coding in the header.
func Encode(w http.ResponseWriter, body []byte) []byte {
	return encode(w, codingFor(w, len(body)), body)
}

// codingFor is the coding that an answer of n bytes has: gzip, or "".
func codingFor(w http.ResponseWriter, n int) string {
	if n < minGzip {
		return ""
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if holderOf(w).Gzip {
		return gzipCoding
	}
	return ""
}

func encode(w http.ResponseWriter, coding string, body []byte) []byte {
	if coding == "" {
		return body
	}
	w.Header().Set("Content-Encoding", coding)
	return compressed(body)
}
