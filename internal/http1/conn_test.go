package http1

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// Nothing is kept of a connection that has ended.
func TestForgets(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(&http.Server{
		Handler: http.NotFoundHandler(), ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
	})
	served := make(chan struct{})
	go func() {
		s.Serve(ln)
		close(served)
	}()
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"} {
		for range 10 {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(c, request)
			c.Read(make([]byte, 1))
			c.Close()
		}
	}
	s.running.Wait()
	s.mu.Lock()
	if n := len(s.conns); n > 0 {
		t.Errorf("%d connections are kept", n)
	}
	s.mu.Unlock()
	s.Close()
	<-served
}

// A response is sent piece by piece if it is large, and leaves a small buffer behind.
func TestResponseBuffer(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	defer server.Close()
	go io.Copy(io.Discard, client)
	var w response
	w.init(server, nil, &atomic.Bool{})
	w.begin()
	w.Write(make([]byte, 10*bufferSize))
	if err := w.end(); err != nil || cap(w.out) != bufferSize {
		t.Errorf("a buffer of %d bytes is kept (%v)", cap(w.out), err)
	}
}

// The value of Date is made anew when the second is over.
func TestToday(t *testing.T) {
	t.Parallel()
	w := response{second: 1, date: []byte("Thu, 01 Jan 1970 00:00:01 GMT")}
	if date, err := http.ParseTime(string(w.today())); err != nil || time.Since(date).Abs() > time.Minute {
		t.Errorf("date %v (%v)", date, err)
	}
}

// What was received is read first, however little is asked for.
func TestBegun(t *testing.T) {
	t.Parallel()
	c := &begun{unread: []byte("abc")}
	got := make([]byte, 3)
	for i := range got {
		if n, err := c.Read(got[i : i+1]); n != 1 || err != nil {
			t.Fatalf("read %d bytes (%v)", n, err)
		}
	}
	if !bytes.Equal(got, []byte("abc")) {
		t.Errorf("read %q", got)
	}
}
