package http1_test

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/http1"
)

const get = "GET / HTTP/1.1\r\nHost: foyer.example\r\n"

// by tells who answers a request: net/http names its server in a request's context.
func by(r *http.Request) string {
	if r.Context().Value(http.ServerContextKey) == nil {
		return "http1"
	}
	return "net/http"
}

type served struct {
	*http1.Server
	address string
	log     lines
	ended   chan error // what Serve returned
}

// lines is a log, a line each.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func serve(t *testing.T, h http.HandlerFunc, change ...func(*http.Server)) *served {
	t.Helper()
	return serveOn(t, listen(t), h, change...)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func serveOn(t *testing.T, ln net.Listener, h http.HandlerFunc, change ...func(*http.Server)) *served {
	t.Helper()
	s := &served{address: ln.Addr().String(), log: make(lines, 10), ended: make(chan error, 1)}
	settings := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute, ErrorLog: log.New(s.log, "", 0),
	}
	for _, c := range change {
		c(settings)
	}
	s.Server = http1.New(settings)
	go func() { s.ended <- s.Serve(ln) }()
	t.Cleanup(func() { s.Close() })
	return s
}

// client is a connection to a server. What fails ends the test.
type client struct {
	*net.TCPConn
	t *testing.T
	r *bufio.Reader
}

func (s *served) dial(t *testing.T) *client {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{TCPConn: c.(*net.TCPConn), t: t, r: bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer is a response, read to its end.
type answer struct {
	status string
	header http.Header
	length int64 // as declared; -1: it came in chunks
	body   string
	ends   bool // before the length is reached
	last   bool // says so
}

// next is the answer to the next request.
func (c *client) next() answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		c.t.Fatal(err)
	}
	return answer{resp.Status, resp.Header, resp.ContentLength, string(body), err != nil, resp.Close}
}

func (c *client) wantBody(want string) {
	c.t.Helper()
	if got := c.next(); got.status != "200 OK" || got.body != want {
		c.t.Fatalf("answer %s %q, want 200 %q", got.status, got.body, want)
	}
}

func (c *client) wantEnd() {
	c.t.Helper()
	if b, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
		c.t.Fatalf("byte %q (%v), want the end of the connection", b, err)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		panic(err)
	}
	io.WriteString(w, by(r)+" "+r.Method+" "+r.URL.Path+" "+string(body))
}

func TestWhoAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	large := strings.Repeat("a", 5000)
	for name, tc := range map[string]struct {
		pieces []string
		want   []string
	}{
		"plain":               {[]string{get + "\r\n"}, []string{"http1 GET / "}},
		"one after the other": {[]string{get + "\r\n" + get + "\r\n", get + "\r\n"}, []string{"http1 GET / ", "http1 GET / ", "http1 GET / "}},
		"in pieces":           {[]string{get[:5], get[5:], "\r", "\n"}, []string{"http1 GET / "}},
		"its body later": {
			[]string{"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n", "ab", "c" + get, "\r\n"},
			[]string{"http1 POST /a abc", "http1 GET / "},
		},
		"a large body": {
			[]string{get + "\r\n", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n", large, get + "\r\n"},
			[]string{"http1 GET / ", "net/http POST /a " + large, "net/http GET / "},
		},
		"a large head": {[]string{get + "X-A: " + large + "\r\n\r\n"}, []string{"net/http GET / "}},
		"chunked": {
			[]string{"POST /%61 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "0\r\n\r\n" + get + "\r\n"},
			[]string{"net/http POST /a abc", "net/http GET / "},
		},
		"behind a plain one": {
			[]string{get + "\r\n" + "GET /%61 HTTP/1.1\r\nHost: a\r\n\r\n" + get + "\r\n"},
			[]string{"http1 GET / ", "net/http GET /a ", "net/http GET / "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.dial(t)
			for _, piece := range tc.pieces {
				c.send(piece)
			}
			for _, want := range tc.want {
				c.wantBody(want)
			}
		})
	}
}

// Nothing of an answer is left for the next one.
func TestFieldsOfOne(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			w.Header().Set("Set-Cookie", "a=b")
		}
	}).dial(t)
	c.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n" + get + "\r\n")
	if first, second := c.next(), c.next(); first.header.Get("Set-Cookie") != "a=b" || second.header.Get("Set-Cookie") != "" {
		t.Errorf("answers with %v and %v", first.header, second.header)
	}
}

// What is not plain, net/http answers, however wrong it is.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, echo, func(s *http.Server) { s.MaxHeaderBytes = 8 << 10 })
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":                                                         "400 Bad Request: missing required Host header",
		get + "Host: other.example\r\n\r\n":                                              "400 Bad Request",
		get + "Transfer-Encoding: strange\r\n\r\n":                                       "501 Not Implemented",
		get + "X-A: " + strings.Repeat("a", 20<<10):                                      "431 Request Header Fields Too Large",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab": "400 Bad Request",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                           "400 Bad Request",
	} {
		c := s.dial(t)
		_, _ = io.WriteString(c, request) // the answer may come before the end of a long head
		if got := c.next(); got.status != want {
			t.Errorf("%.60q: status %s, want %s", request, got.status, want)
		}
	}
}

// answers are what handlers do, by path.
var answers = map[string]http.HandlerFunc{
	"/nothing": func(http.ResponseWriter, *http.Request) {},
	"/status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) },
	"/twice": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
	},
	"/late": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Late", "a")
	},
	"/204": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		_, err := io.WriteString(w, "a")
		mustBe(err, http.ErrBodyNotAllowed)
	},
	"/304": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"a"`)
		w.WriteHeader(http.StatusNotModified)
	},
	"/fields": func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Many"] = []string{"b", "a", ""}
		w.Header()["X-Broken"] = []string{"a\r\nX-Made: b", "a\nX-Made: b", "a\rX-Made: b"}
		io.WriteString(w, "a")
	},
	"/pieces": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 10 {
			io.WriteString(w, strconv.Itoa(i))
		}
	},
	"/length": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		for i := range 10 {
			io.WriteString(w, strconv.Itoa(i))
		}
		_, err := io.WriteString(w, "a")
		mustBe(err, http.ErrContentLength)
	},
	"/too-much": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		for _, text := range []string{"12345", "123456", "12345"} {
			_, err := io.WriteString(w, text)
			if text != "12345" {
				mustBe(err, http.ErrContentLength)
			}
		}
	},
	"/large": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2000005")
		io.WriteString(w, "start")
		for range 2 {
			io.WriteString(w, strings.Repeat("a", 1_000_000))
		}
	},
	"/large-open": func(w http.ResponseWriter, _ *http.Request) {
		for range 2 {
			io.WriteString(w, strings.Repeat("a", 1_000_000))
		}
	},
	"/negative-length": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "-2")
		io.WriteString(w, "a")
	},
	"/wrong-length": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "many")
		io.WriteString(w, "a")
	},
}

func mustBe(err, want error) {
	if !errors.Is(err, want) {
		panic(err)
	}
}

func answerByPath(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-By", by(r))
	answers[r.URL.Path](w, r)
}

// A handler's response looks as net/http would send it.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, answerByPath)
	for path := range answers {
		plain, other := s.dial(t), s.dial(t)
		plain.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		other.send("GET " + path + " HTTP/1.1\r\nHost: a\r\nPragma: a\r\n\r\n")
		got, want := plain.next(), other.next()
		if got.header.Get("X-By") != "http1" || want.header.Get("X-By") != "net/http" {
			t.Fatalf("%s: answered by %s and %s", path, got.header.Get("X-By"), want.header.Get("X-By"))
		}
		if want.length < 0 { // sent in chunks
			want.length = got.length
			want.header["Content-Length"] = got.header["Content-Length"]
		}
		want.last = false // where too much was written, net/http may know before the head is sent
		want.header.Del("Connection")
		for _, header := range []http.Header{got.header, want.header} {
			if date, err := http.ParseTime(header.Get("Date")); err != nil || time.Since(date).Abs() > time.Minute {
				t.Errorf("%s: date %v (%v)", path, date, err)
			}
			header.Del("Date")
			header.Del("X-By")
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%s (-net/http):\n%.500s", path, diff)
		}
	}
}
