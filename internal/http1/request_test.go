package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const get = "GET /a?b=c HTTP/1.1\r\nHost: foyer.example\r\n"

// requests are single ones, and what parse says of them.
var requests = map[string]error{
	get + "\r\n": nil,
	get + "Connection: Keep-Alive\r\nX-Request-Id: \t a b \r\n\r\n":                     nil,
	get + "x-forwarded-for: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n\r\n":            nil,
	get + "A: 1\r\nB: 2\r\nA: 3\r\n\r\n":                                                nil,
	get + "X_A: b\r\n\r\n":                                                              nil,
	get + strings.Repeat("X-A: b\r\n", maxFields-1) + "\r\n":                            nil,
	"GET /a?b=%20 HTTP/1.1\r\nHost: a\r\n\r\n":                                          nil,
	"DELETE /a HTTP/1.1\r\nhost: [::1]:8080\r\nContent-Length: 0\r\n\r\n":               nil,
	"POST /a/@me/ HTTP/1.1\r\nHost: foyer.example\r\nContent-Length: 2\r\n\r\n{}":       nil,
	"PATCH /a HTTP/1.1\r\nHost: foyer.example\r\nContent-Length: 002\r\n\r\n{}GET / HT": nil,

	"":         errIncomplete,
	get:        errIncomplete,
	get[:10]:   errIncomplete,
	"\x16\x03": errIncomplete,
	"POST /a HTTP/1.1\r\nHost: foyer.example\r\nContent-Length: 2\r\n\r\n{": errIncomplete,

	// lines that end in LF alone
	"GET /a HTTP/1.1\nHost: foyer.example\n\n":     errNotPlain,
	"GET /a HTTP/1.1\r\nHost: foyer.example\n\n":   errNotPlain,
	"GET /a HTTP/1.1\r\nHost: foyer.example\r\n\n": errNotPlain,
	"SSH-2.0-Go\r\n": errIncomplete,

	// other methods, targets and versions
	"\r\n" + get + "\r\n":                                               errNotPlain,
	"HEAD /a HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                   errNotPlain,
	"PUT /a HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                    errNotPlain,
	"GET /a:b HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                  errNotPlain,
	"OPTIONS * HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                 errNotPlain,
	"get /a HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                    errNotPlain,
	"GET  /a HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                   errNotPlain,
	"GET /a HTTP/1.0\r\nHost: foyer.example\r\n\r\n":                    errNotPlain,
	"GET /a HTTP/1.1 \r\nHost: foyer.example\r\n\r\n":                   errNotPlain,
	"GET /a\r\nHost: foyer.example\r\n\r\n":                             errNotPlain,
	"GET a HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                     errNotPlain,
	"GET //a HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                   errNotPlain,
	"GET /a? HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                   errNotPlain,
	"GET /a#b HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                  errNotPlain,
	"GET /%61 HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                  errNotPlain,
	"GET /é HTTP/1.1\r\nHost: foyer.example\r\n\r\n":                    errNotPlain,
	"GET http://foyer.example/ HTTP/1.1\r\nHost: foyer.example\r\n\r\n": errNotPlain,
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                  errNotPlain,

	// fields
	"GET /a HTTP/1.1\r\n\r\n":                                   errNotPlain,
	"GET /a HTTP/1.1\r\nHost:\r\n\r\n":                          errNotPlain,
	"GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n":                      errNotPlain,
	get + "Host: foyer.example\r\n\r\n":                         errNotPlain,
	get + "no colon\r\n\r\n":                                    errNotPlain,
	get + ": no name\r\n\r\n":                                   errNotPlain,
	get + "X-A : b\r\n\r\n":                                     errNotPlain,
	get + " X-A: b\r\n\r\n":                                     errNotPlain,
	get + "X-A: a\r\n b\r\n\r\n":                                errNotPlain,
	get + "X-A: a\nX-B: b\r\n\r\n":                              errNotPlain,
	get + "X-A: a\rX-B: b\r\n\r\n":                              errNotPlain,
	get + "X-A: a\x00\r\n\r\n":                                  errNotPlain,
	get + "X-A: \x7f\r\n\r\n":                                   errNotPlain,
	get + "X-A: é\r\n\r\n":                                      errNotPlain,
	get + "Connection: close\r\n\r\n":                           errNotPlain,
	get + "Connection: keep-alive, X-A\r\n\r\n":                 errNotPlain,
	get + "Connection: keep-alive\r\nConnection: close\r\n\r\n": errNotPlain,
	get + "Upgrade: h2c\r\n\r\n":                                errNotPlain,
	get + "Expect: 100-continue\r\n\r\n":                        errNotPlain,
	get + "Pragma: no-cache\r\n\r\n":                            errNotPlain,
	get + "Trailer: X-A\r\n\r\n":                                errNotPlain,
	get + strings.Repeat("X-A: b\r\n", maxFields) + "\r\n":      errNotPlain,

	// bodies
	get + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":               errNotPlain,
	get + "Transfer-Encoding: identity\r\nContent-Length: 1\r\n\r\na": errNotPlain,
	get + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na":           errNotPlain,
	get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab":          errNotPlain,
	get + "Content-Length: 1, 1\r\n\r\na":                             errNotPlain,
	get + "Content-Length: +1\r\n\r\na":                               errNotPlain,
	get + "Content-Length: -1\r\n\r\na":                               errNotPlain,
	get + "Content-Length: 0x1\r\n\r\na":                              errNotPlain,
	get + "Content-Length:\r\n\r\na":                                  errNotPlain,
	get + "Content-Length: 4096\r\n\r\n":                              errNotPlain,
	get + "Content-Length: 9223372036854775807\r\n\r\n":               errNotPlain,
	get + "Content-Length: 99999999999999999999\r\n\r\n":              errNotPlain,
}

func TestParse(t *testing.T) {
	t.Parallel()
	for data, want := range requests {
		if _, err := newRequest(t).parse([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", data, err, want)
		}
		compare(t, []byte(data))
	}
}

// FuzzParse: what parse takes for a request, net/http takes for the same.
func FuzzParse(f *testing.F) {
	for data := range requests {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, data) })
}

func newRequest(t *testing.T) *request {
	r := &request{}
	r.init(t.Context(), "192.0.2.1:1234")
	return r
}

func compare(t *testing.T, data []byte) {
	t.Helper()
	r := newRequest(t)
	r.Pattern, r.blank.Header["X-Of-The-Last"] = "/of/the/last", []string{"request"}
	r.SetPathValue("of", "the last")
	size, err := r.parse(data)
	if err != nil {
		return
	}
	buffered := bufio.NewReader(bytes.NewReader(data))
	want, err := http.ReadRequest(buffered)
	if err != nil {
		t.Fatalf("net/http does not take it: %v", err)
	}
	if diff := cmp.Diff(facts(t, want), facts(t, &r.Request)); diff != "" {
		t.Fatalf("net/http took it for something else (-):\n%s", diff)
	}
	if rest, err := io.ReadAll(buffered); err != nil || string(rest) != string(data[size:]) {
		t.Fatalf("net/http leaves %q, not %q (%v)", rest, data[size:], err)
	}
}

// facts are what a handler may know of a request, but for what is the same in all.
func facts(t *testing.T, r *http.Request) map[string]any {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"method": r.Method, "url": *r.URL, "target": r.RequestURI, "proto": r.Proto, "major": r.ProtoMajor, "minor": r.ProtoMinor,
		"header": r.Header, "host": r.Host, "pattern": r.Pattern + r.PathValue("of"), "length": r.ContentLength, "body": string(body), "close": r.Close,
		"encoding": r.TransferEncoding, "trailer": r.Trailer,
	}
}
