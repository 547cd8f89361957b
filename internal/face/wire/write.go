package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Write sends the JSON that body appends, and a line feed; the ETag is a digest of the JSON. If the server already
// holds too much memory, Write sends nothing and returns a fault of kind Busy.
func Write(w http.ResponseWriter, status int, body func(b []byte) []byte) error {
	return WriteWithETag(w, status, ETag{}, body)
}

// WriteWithETag is Write with an ETag other than the digest.
func WriteWithETag(w http.ResponseWriter, status int, etag ETag, body func(b []byte) []byte) error {
	buf := getBuffer()
	defer buf.put()
	buf.b = body(buf.b)
	if etag == (ETag{}) && status <= http.StatusAccepted {
		etag = ETagOf(buf.b)
	}
	buf.b = append(buf.b, '\n')
	if err := Hold(w, len(buf.b)); err != nil {
		return err
	}
	return buf.send(w, status, etag)
}

// send answers with the content of the buffer. It sends no ETag if etag is zero or Cache-Control is set already.
func (buf *buffer) send(w http.ResponseWriter, status int, etag ETag) error {
	h := w.Header()
	zipped := zips(w, len(buf.b))
	tagged := etag != (ETag{}) && h["Cache-Control"] == nil
	if tagged && holderOf(w).has(etag) {
		h["Etag"] = []string{string(etag.append(nil, zipped))}
		h["Cache-Control"] = privateNoCache
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	buf.b = encode(w, zipped, buf.b)
	both := strconv.AppendInt(make([]byte, 0, 48), int64(len(buf.b)), 10) // one string and one slice for both headers
	digits := len(both)
	if tagged {
		both = etag.append(both, zipped)
	}
	text := string(both)
	values := []string{text[:digits], text[digits:]}
	if tagged {
		h["Etag"] = values[1:2:2]
		h["Cache-Control"] = privateNoCache
	}
	h["Content-Type"] = jsonType
	h["X-Content-Type-Options"] = noSniff
	h["Content-Length"] = values[0:1:1]
	w.WriteHeader(status)
	_, err := w.Write(buf.b)
	return err
}

var (
	jsonType = []string{"application/json"}
	noSniff  = []string{"nosniff"}

	privateNoCache = []string{"private, no-cache"}
)

// WriteNothing sends 204.
func WriteNothing(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// AppendString appends s as a JSON string.
func AppendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	b, _ = jsontext.AppendQuote(b, s) // fails on invalid UTF-8, which ReadObject refuses, and writes U+FFFD
	return b
}

// isPlain reports whether JSON needs no escapes for s. Most texts need none, and this check takes a fifth of the time
// of quoting.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendField appends "name":"value", after a comma.
func AppendField(b []byte, name, value string) []byte {
	return AppendString(AppendName(b, name), value)
}

// AppendFieldOrNull is AppendField, with null for an empty text.
func AppendFieldOrNull(b []byte, name, value string) []byte {
	if value == "" {
		return AppendJSON(b, name, "")
	}
	return AppendField(b, name, value)
}

// AppendName appends "name": after a comma, unless the object begins here.
func AppendName(b []byte, name string) []byte {
	if n := len(b); n > 0 && b[n-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// AppendJSON appends "name": and stored JSON, or null for an empty text.
func AppendJSON(b []byte, name, text string) []byte {
	if text == "" {
		text = "null"
	}
	return append(AppendName(b, name), text...)
}

// AppendStrings appends "name": and an array of strings.
func AppendStrings(b []byte, name string, all []string) []byte {
	return AppendList(AppendName(b, name), all, AppendString)
}

// AppendInt appends "name": and a number.
func AppendInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(AppendName(b, name), n, 10)
}

// AppendIntOrNull is AppendInt, with null for 0.
func AppendIntOrNull(b []byte, name string, n int64) []byte {
	if n == 0 {
		return AppendJSON(b, name, "")
	}
	return AppendInt(b, name, n)
}

// AppendBool appends "name": and true or false.
func AppendBool(b []byte, name string, v bool) []byte {
	return strconv.AppendBool(AppendName(b, name), v)
}

// AppendTime appends "name": and a time (RFC 3339, UTC, microseconds), or null for the zero time.
func AppendTime(b []byte, name string, t time.Time) []byte {
	b = AppendName(b, name)
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, time.RFC3339) // a layout with a fraction takes 4 times as long
	point := len(b) - len("Z")
	b = strconv.AppendInt(b[:point], int64(1_000_000+t.Nanosecond()/1000), 10) // the six digits come after a 1, which the point replaces
	b[point] = '.'
	return append(b, `Z"`...)
}
