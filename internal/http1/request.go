package http1

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	maxRequest = 4 << 10 // bytes of a plain request, its body included
	maxFields  = 32      // of its head
)

// request is what the handler gets, used again for each request of a connection.
type request struct {
	http.Request

	blank  *http.Request // what all requests of the connection have in common
	url    url.URL
	values [maxFields]string // of the header, where a name has one
	body   body
}

type body struct{ bytes.Reader }

// Close implements io.Closer.
func (*body) Close() error { return nil }

func (r *request) init(ctx context.Context, remote string) {
	blank := http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, RemoteAddr: remote}
	r.blank = blank.WithContext(ctx)
}

var (
	errIncomplete = errors.New("the request has not come whole")
	errNotPlain   = errors.New("the request is not plain")
)

// parse makes r the plain request that data begins with, and returns its size in bytes.
// What it takes for one, http.ReadRequest takes for the same (FuzzParse): it looks for
// reasons to leave a request to net/http, not for what is wrong with it.
func (r *request) parse(data []byte) (size int, err error) {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	switch {
	case end >= 0:
	case bytes.Count(data, []byte("\n")) != bytes.Count(data, []byte("\r\n")): // net/http may find an end
		return 0, errNotPlain
	default:
		return 0, errIncomplete
	}
	head := string(data[:end+len("\r\n")])
	line, fields, _ := strings.Cut(head, "\r\n")
	r.Request = *r.blank
	if !r.parseLine(line) || !r.parseFields(fields) {
		return 0, errNotPlain
	}
	length, ok := r.contentLength()
	start := end + len("\r\n\r\n")
	if !ok || length > maxRequest-start {
		return 0, errNotPlain
	}
	if size = start + length; size > len(data) {
		return 0, errIncomplete
	}
	r.ContentLength, r.Body = int64(length), http.NoBody
	if length > 0 {
		r.body.Reset(data[start:size])
		r.Body = &r.body
	}
	return size, nil
}

// parseLine reads the request line (RFC 9112 section 3).
func (r *request) parseLine(line string) (plain bool) {
	method, rest, _ := strings.Cut(line, " ")
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	target, ok := strings.CutSuffix(rest, " HTTP/1.1")
	path, query, asks := strings.Cut(target, "?")
	if !ok || asks && query == "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || !only(path, inPath) || !only(query, inQuery) {
		return false
	}
	r.url = url.URL{Path: path, RawQuery: query}
	r.Method, r.URL, r.RequestURI = method, &r.url, target
	return true
}

// parseFields reads the lines of a head (RFC 9112 section 5), each of which ends in CRLF.
func (r *request) parseFields(lines string) (plain bool) {
	clear(r.Header)
	for i := 0; lines != ""; i++ {
		var line string
		line, lines, _ = strings.Cut(lines, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || i == maxFields || name == "" || !only(name, inName) || !only(value, inValue) {
			return false
		}
		name, value = http.CanonicalHeaderKey(name), strings.Trim(value, " \t")
		switch name {
		case "Expect", "Pragma", "Trailer", "Transfer-Encoding", "Upgrade":
			return false
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		}
		if before := r.Header[name]; before != nil {
			r.Header[name] = append(before, value)
			continue
		}
		r.values[i] = value
		r.Header[name] = r.values[i : i+1 : i+1]
	}
	hosts := r.Header["Host"]
	if len(hosts) != 1 || hosts[0] == "" || !only(hosts[0], inHost) {
		return false
	}
	delete(r.Header, "Host") // as net/http does
	r.Host = hosts[0]
	return true
}

// contentLength is the length of the body in bytes (RFC 9112 section 6.3).
func (r *request) contentLength() (n int, plain bool) {
	lengths := r.Header["Content-Length"]
	if len(lengths) == 0 {
		return 0, true
	}
	n, err := strconv.Atoi(lengths[0])
	return n, err == nil && len(lengths) == 1 && only(lengths[0], inNumber)
}

// The parts of a request that a byte may be in.
const (
	inName  = 1 << iota // RFC 9110 section 5.6.2: a token
	inValue             // of a field
	inHost
	inPath // without escapes
	inQuery
	inNumber
)

// parts tells for each byte what it may be in. What is not ASCII is in nothing.
var parts = func() (parts [256]uint8) {
	const (
		digits  = "0123456789"
		letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	)
	for part, chars := range map[uint8]string{
		inName:   digits + letters + "!#$%&'*+-.^_`|~",
		inHost:   digits + letters + "-._:[]",
		inPath:   digits + letters + "-._~/@",
		inQuery:  digits + letters + "-._~/@!$&'()*+,;=:?%",
		inNumber: digits,
	} {
		for _, c := range []byte(chars) {
			parts[c] |= part
		}
	}
	for c := ' '; c <= '~'; c++ {
		parts[c] |= inValue
	}
	parts['\t'] |= inValue
	return parts
}()

func only(s string, part uint8) bool {
	for i := range len(s) {
		if parts[s[i]]&part == 0 {
			return false
		}
	}
	return true
}
