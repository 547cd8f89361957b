package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// fullListener fails once, as if there were no file descriptor for the first connection.
type fullListener struct {
	net.Listener
	failed atomic.Bool
}

func (l *fullListener) Accept() (net.Conn, error) {
	if !l.failed.Swap(true) {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// The log says that connections cannot be accepted.
func TestAcceptFails(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	s := Server{Log: slog.New(slog.NewJSONHandler(&lines, nil))}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- s.serve(ctx, &fullListener{Listener: ln}, http.NotFoundHandler()) }()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ln.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	const want = `"level":"ERROR","msg":"http: Accept error: accept tcp: too many open files; retrying in 5ms"`
	if got := lines.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// The log also says that requests for metrics cannot be accepted, for now or at all.
func TestMetricsAcceptFails(t *testing.T) {
	t.Parallel()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	read, write := io.Pipe()
	lines := bufio.NewScanner(read)
	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	Server{Log: slog.New(slog.NewJSONHandler(write, nil))}.answer(ctx, &fullListener{Listener: ln}, http.NotFoundHandler(), &background)
	for _, want := range []string{
		`"level":"ERROR","msg":"http: Accept error: accept tcp: too many open files; retrying in 5ms"`,
		`"level":"ERROR","msg":"metrics","error":"accept tcp `,
	} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("got %s, want %s", lines.Text(), want)
		}
	}
	stop()
	background.Wait()
}

// Disconnects of clients are not logged.
func TestNoiseOfClients(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	log.New(netLog{slog.NewJSONHandler(&lines, nil)}, "", 0).Print("http: TLS handshake error from 192.0.2.1:1: EOF")
	if lines.Len() > 0 {
		t.Errorf("got %s", lines.String())
	}
}
