package http1_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Who hangs up while a request takes long ends its context, and only then.
func TestHangUp(t *testing.T) {
	t.Parallel()
	began := make(chan context.Context)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		began <- r.Context()
		select {
		case <-time.After(watched): // the first
			echo(w, r)
		case <-r.Context().Done():
		}
	})
	c := s.dial(t)
	c.send(get + "\r\n")
	<-began
	c.wantBody("http1 GET / ")
	c.send(get + "\r\n")
	ctx := <-began
	if ctx.Err() != nil {
		t.Fatalf("the context ended with the first request: %v", ctx.Err())
	}
	c.Close()
	<-ctx.Done()
}

// watched is how long a request takes whose client is watched.
const watched = 150 * time.Millisecond

// When a context has ended, the next request of its connection is net/http's: what was
// begun for the first one may still look at it.
func TestAfterTheContext(t *testing.T) {
	t.Parallel()
	began := make(chan *http.Request, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		began <- r
		<-r.Context().Done()
		echo(w, r)
	})
	c := s.dial(t)
	c.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n")
	first := <-began
	c.CloseWrite()
	c.wantBody("http1 GET /first ")
	c.wantBody("net/http GET /second ")
	c.wantEnd()
	if first.URL.Path != "/first" {
		t.Fatalf("the first request has become %s", first.URL.Path)
	}
}

// A context ends with its connection.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	kept := make(chan context.Context, 1)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RemoteAddr)
		kept <- r.Context()
	})
	c := s.dial(t)
	c.send(get + "\r\n")
	c.wantBody(c.LocalAddr().String())
	c.Close()
	<-(<-kept).Done()
}

// echoAfter tells that a request for /long has begun, and waits until it may be finished.
func echoAfter(began chan<- struct{}, finish <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			began <- struct{}{}
			<-finish
		}
		echo(w, r)
	}
}

// What comes while a request takes long is the next request.
func TestWatchLosesNothing(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, echoAfter(began, finish))
	c := s.dial(t)
	for range 3 {
		c.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
		<-began
		c.send("POST /next HTTP/1.1\r\nHost: a\r\n")
		time.AfterFunc(watched, func() { finish <- struct{}{} })
		c.wantBody("http1 GET /long ")
		c.send("Content-Length: 3\r\n\r\nabc")
		c.wantBody("http1 POST /next abc")
	}
}

// A request that takes longer than a connection may be idle is answered, and so are those
// of a connection that lasts longer.
func TestLongRequest(t *testing.T) {
	t.Parallel()
	const idle = 300 * time.Millisecond
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			select {
			case <-time.After(2 * idle):
			case <-r.Context().Done():
				return
			}
		}
		echo(w, r)
	}, func(s *http.Server) { s.IdleTimeout = idle })
	c := s.dial(t)
	for range 2 {
		c.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
		c.wantBody("http1 GET /long ")
	}
	tick := time.NewTicker(idle / 3)
	defer tick.Stop()
	for range 9 {
		<-tick.C
		c.send(get + "\r\n")
		c.wantBody("http1 GET / ")
	}
	c.wantEnd()
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	wrote := make(chan error, 2)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/large" {
			echo(w, r)
			return
		}
		w.Header().Set("Content-Length", "200000000")
		for range 2 {
			_, err := w.Write(make([]byte, 100_000_000))
			wrote <- errors.Join(err, r.Context().Err())
		}
	}, func(s *http.Server) {
		s.ReadHeaderTimeout, s.IdleTimeout, s.WriteTimeout = 100*time.Millisecond, 600*time.Millisecond, 200*time.Millisecond
	})
	t.Run("nothing comes", func(t *testing.T) {
		t.Parallel()
		s.dial(t).wantEnd()
	})
	t.Run("nothing more comes", func(t *testing.T) {
		t.Parallel()
		c := s.dial(t)
		c.send(get + "\r\n")
		c.wantBody("http1 GET / ")
		began := time.Now()
		c.wantEnd()
		if took := time.Since(began); took < 400*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
	t.Run("the rest never comes", func(t *testing.T) {
		t.Parallel()
		c := s.dial(t)
		c.send(get)
		c.wantEnd()
	})
	t.Run("nobody reads", func(t *testing.T) {
		t.Parallel()
		c := s.dial(t)
		c.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n" + get + "\r\n")
		first, second := <-wrote, <-wrote
		if !errors.Is(first, os.ErrDeadlineExceeded) || !errors.Is(first, context.Canceled) || !errors.Is(second, os.ErrDeadlineExceeded) {
			t.Fatalf("errors %v and %v of an answer that nobody reads", first, second)
		}
		if n, err := io.Copy(io.Discard, c); n >= 200_000_000 {
			t.Fatalf("received %d bytes (%v)", n, err)
		}
	})
}

// The rest of a request may come when patience is over: net/http waits longer.
func TestSlowRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	t.Run("in two pieces", func(t *testing.T) {
		t.Parallel()
		c := s.dial(t)
		c.send(get)
		time.AfterFunc(1500*time.Millisecond, func() { io.WriteString(c, "\r\n") })
		c.wantBody("net/http GET / ")
	})
	t.Run("byte by byte", func(t *testing.T) {
		t.Parallel()
		c := s.dial(t)
		c.send(get)
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for _, piece := range strings.SplitAfter("X-A: b\r\n\r\n", "") {
			<-tick.C
			c.send(piece)
		}
		c.wantBody("net/http GET / ")
	})
	t.Run("quick enough", func(t *testing.T) {
		t.Parallel()
		c := s.dial(t)
		c.send(get + "\r\n")
		c.wantBody("http1 GET / ")
		c.send(get)
		time.AfterFunc(100*time.Millisecond, func() { io.WriteString(c, "\r\n") })
		c.wantBody("http1 GET / ")
		time.AfterFunc(1200*time.Millisecond, func() { io.WriteString(c, get+"\r\n") })
		c.wantBody("http1 GET / ")
	})
}

// Of a handler that gives up, or promises more than it writes, the client sees no whole
// answer. Others are served on.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/panic":
			panic("a bug")
		case "/short":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "a")
		default:
			echo(w, r)
		}
	})
	for _, path := range []string{"/abort", "/panic", "/short"} {
		c := s.dial(t)
		c.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		all, err := io.ReadAll(c.r)
		if err != nil || path != "/short" && len(all) > 0 || path == "/short" && !strings.HasSuffix(string(all), "\r\n\r\na") {
			t.Errorf("%s: %q (%v)", path, all, err)
		}
	}
	c := s.dial(t)
	c.send(get + "\r\n")
	c.wantBody("http1 GET / ")
	if line := <-s.log; !strings.Contains(line, "a bug") || !strings.Contains(line, "end_test.go") || len(s.log) > 0 {
		t.Errorf("logged: %s", line)
	}
}

// Shutdown closes idle connections and waits for the others, whoever answers them.
func TestShutdown(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, echoAfter(began, finish))
	fresh, idle, part, busy, other := s.dial(t), s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	idle.send(get + "\r\n")
	idle.wantBody("http1 GET / ")
	part.send(get)
	busy.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n" + get + "\r\n")
	other.send("GET /long HTTP/1.1\r\nHost: a\r\nPragma: a\r\n\r\n")
	<-began
	<-began
	stopped := make(chan error)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	fresh.wantEnd()
	idle.wantEnd()
	part.wantEnd()
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		t.Fatalf("Serve returned %v", err)
	}
	select {
	case err := <-stopped:
		t.Fatalf("Shutdown returned %v while requests were answered", err)
	default:
	}
	close(finish)
	for c, want := range map[*client]string{busy: "http1 GET /long ", other: "net/http GET /long "} {
		if got := c.next(); got.body != want || !got.last {
			t.Errorf("answer %q, the last: %v", got.body, got.last)
		}
		c.wantEnd()
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", s.address); err == nil {
		c.Close()
		t.Fatal("it still listens")
	}
}

// Shutdown gives up when its context is done, whoever answers; Close then ends what goes on.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{"", "Pragma: a\r\n"} {
		began, ended := make(chan struct{}), make(chan struct{})
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
			echo(w, r)
			close(ended)
		})
		c := s.dial(t)
		c.send(get + fields + "\r\n")
		<-began
		ctx, cancel := context.WithTimeout(t.Context(), watched)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Shutdown returned %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		<-ended
		c.wantEnd()
	}
}

// Close needs no Shutdown before.
func TestCloseAtOnce(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	c := s.dial(t)
	c.send(get + "\r\n")
	<-began
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	c.wantEnd()
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		t.Fatalf("Serve returned %v", err)
	}
}

// late is a listener that is slow to tell of a connection.
type late struct {
	net.Listener
	accepted, told chan net.Conn
}

func (l late) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.accepted <- c
	return <-l.told, nil
}

// Who connects while the server stops is turned away.
func TestTooLate(t *testing.T) {
	t.Parallel()
	l := late{listen(t), make(chan net.Conn), make(chan net.Conn)}
	s := serveOn(t, l, echo)
	c := s.dial(t)
	accepted := <-l.accepted
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.told <- accepted
	c.wantEnd()
	runtime.KeepAlive(accepted) // or it would be closed as garbage
}

// failing is a listener that fails at first.
type failing struct {
	net.Listener
	failed atomic.Bool
}

func (l *failing) Accept() (net.Conn, error) {
	if l.failed.CompareAndSwap(false, true) {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// Where a connection cannot be accepted, that is logged, and others are.
func TestAcceptFails(t *testing.T) {
	t.Parallel()
	s := serveOn(t, &failing{Listener: listen(t)}, echo)
	c := s.dial(t)
	c.send(get + "\r\n")
	c.wantBody("http1 GET / ")
	if line := <-s.log; !strings.Contains(line, "http: Accept error: accept: too many open files") {
		t.Errorf("logged: %q", line)
	}
}
