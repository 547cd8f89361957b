package http1

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
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

// A connection is no longer the server's when it is handed over, and ends if nobody is
// there to take it.
func TestHandOver(t *testing.T) {
	t.Parallel()
	client, server := pair(t)
	s := New(&http.Server{ReadHeaderTimeout: time.Minute})
	l := &listener{closed: make(chan struct{})}
	close(l.closed)
	kept := -1
	s.start(server, func(c net.Conn) {
		s.mu.Lock()
		kept = len(s.conns)
		s.mu.Unlock()
		l.handOver(c)
	})
	io.WriteString(client, "HEAD / HTTP/1.1\r\n\r\n")
	s.running.Wait()
	if _, err := client.Read(make([]byte, 1)); kept != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d connections are kept; the client reads %v", kept, err)
	}
	runtime.KeepAlive(server) // or it would be closed as garbage
}

// Half a request does not hold up a stop, as it would in net/http's hands.
func TestStopInBetween(t *testing.T) {
	t.Parallel()
	client, server := pair(t)
	s := New(&http.Server{ReadHeaderTimeout: time.Minute})
	s.start(server, func(c net.Conn) {
		t.Error("it is handed over")
		c.Close()
	})
	io.WriteString(client, "GET / HT")
	time.AfterFunc(50*time.Millisecond, s.stop)
	s.running.Wait()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client reads %v", err)
	}
}

// pair is a connection, seen from both sides.
func pair(t *testing.T) (client net.Conn, server *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	client.SetDeadline(time.Now().Add(20 * time.Second))
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return client, accepted.(*net.TCPConn)
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
