package wire

import (
	"bytes"
	"compress/gzip"
	"mime"
	"net/http"
	"strings"
	"sync"
)

// minGzip is the size in bytes from which an answer is worth compressing.
const minGzip = 1 << 10

// Accepts reports whether a header names a value and does not refuse it with q=0. The header is a list with weights
// (RFC 9110 section 12.4.2), on one line or several.
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

// compressors use the cheapest level: an answer is made for one request only.
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
	w.Reset(nil) // otherwise the pool would keep the answer in memory
	return to.Bytes()
}

// Encode compresses the body of an answer if its client accepts that, and names the coding in the header.
func Encode(w http.ResponseWriter, body []byte) []byte {
	return encode(w, zips(w, len(body)), body)
}

// zips reports whether an answer of n bytes is to be compressed.
func zips(w http.ResponseWriter, n int) bool {
	if n < minGzip {
		return false
	}
	w.Header().Add("Vary", "Accept-Encoding")
	return holderOf(w).Gzip
}

func encode(w http.ResponseWriter, zipped bool, body []byte) []byte {
	if !zipped {
		return body
	}
	w.Header().Set("Content-Encoding", "gzip")
	return compressed(body)
}
