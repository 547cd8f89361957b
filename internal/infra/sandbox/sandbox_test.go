package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/base/fault"
)

// hog keeps the memory task's allocations alive.
var hog [][]byte

var silent = slog.New(slog.DiscardHandler)

// tasks are the tasks of the children in these tests.
var tasks = map[string]Task{
	"echo": func(in io.Reader, out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	},
	"ignore": func(_ io.Reader, out io.Writer) error {
		_, err := io.WriteString(out, "did not look")
		return err
	},
	"fail":  func(io.Reader, io.Writer) error { return errors.New("line 1: no good") },
	"chide": func(io.Reader, io.Writer) error { return errors.New(strings.Repeat("no ", 100_000)) },
	"panic": func(io.Reader, io.Writer) error { panic("a secret\ngoroutine 1 [running]: a secret") },
	"leave": func(io.Reader, io.Writer) error { os.Exit(0); return nil },
	"stack": func(io.Reader, io.Writer) error {
		var dig func(int) int
		dig = func(n int) int { return 1 + dig(n+1) }
		return fmt.Errorf("reached %d", dig(0))
	},
	"memory": func(io.Reader, io.Writer) error {
		for {
			hog = append(hog, bytes.Repeat([]byte{1}, 1<<20))
		}
	},
	"spin": func(io.Reader, io.Writer) error {
		for n := 0; ; n++ {
			runtime.KeepAlive(n)
		}
	},
	"hang": func(io.Reader, io.Writer) error { time.Sleep(time.Hour); return nil },
	"flood": func(_ io.Reader, out io.Writer) error {
		for {
			if _, err := out.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	},
	"look": look,
	"stay": func(_ io.Reader, out io.Writer) error {
		if err := errors.Join(signalSelf(os.Interrupt), signalSelf(syscall.SIGTERM)); err != nil {
			return err
		}
		_, err := io.WriteString(out, "still here")
		return err
	},
	"shot": func(io.Reader, io.Writer) error { return signalSelf(os.Kill) },
	"alone": func(io.Reader, io.Writer) error { // as Go's runtime does: not every user that runs tests can have a limit
		_, _ = io.WriteString(os.Stderr, "runtime: failed to create new OS thread (have 3 already; errno=11)\n"+
			"runtime: may need to increase max user processes (ulimit -u)\nfatal error: newosproc\n\ngoroutine 1 [running]:\n")
		os.Exit(2)
		return nil
	},
}

func signalSelf(s os.Signal) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(s)
}

// look reports what a child can see of its environment. Its input is the number of a file that was open in the parent.
func look(in io.Reader, out io.Writer) error {
	var fd uintptr
	if _, err := fmt.Fscan(in, &fd); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	_, fdErr := os.NewFile(fd, "inherited").Stat()
	_, fileErr := os.ReadFile("/etc/passwd")
	_, netErr := net.Dial("tcp", "127.0.0.1:1")
	_, runErr := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	environ := slices.DeleteFunc(os.Environ(), func(s string) bool { return s == "GORACE=atexit_sleep_ms=0" })
	_, err = fmt.Fprintf(out, "dir %s\nenv %q\nprocs %d\nfd %v\nfile %v\nnet %v\nrun %v\n",
		dir, environ, runtime.GOMAXPROCS(0), fdErr, fileErr, netErr, runErr)
	return err
}

func TestMain(m *testing.M) {
	if code, isChild := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, tasks); isChild {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	t.Parallel()
	pool := New(2, 10, silent)
	in := strings.Repeat("all of it\n", 100_000)
	for task, want := range map[string]string{"echo": in, "ignore": "did not look", "leave": "", "stay": "still here"} {
		got, err := pool.Run(t.Context(), "Acme", task, strings.NewReader(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %d bytes and error %v, want %d bytes", task, len(got), err, len(want))
		}
	}
	if pool.Running() != 0 || pool.Waiting() != 0 {
		t.Errorf("running %d, waiting %d after all is done", pool.Running(), pool.Waiting())
	}
}

func TestTaskError(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"fail":  "line 1: no good",
		"chide": strings.Repeat("no ", 100_000)[:maxStderr-1],
		"what":  `no task named "what"`,
	} {
		_, err := New(1, 0, silent).Run(t.Context(), "Acme", task, strings.NewReader(""))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %.100v, want %.100q", task, err, want)
		}
	}
}

func TestKilled(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		"stack":  "its input is nested too deeply",
		"memory": "it used more than 512 MB of memory",
		"spin":   "it took ",
		"flood":  "it answered more than 16 MB",
		"panic":  "it crashed",
	} {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && task == "spin" {
				t.Skip("waits for a time limit")
			}
			var log bytes.Buffer
			pool := New(1, 0, slog.New(slog.NewTextHandler(&log, nil)))
			_, err := pool.Run(t.Context(), "Acme", task, strings.NewReader(""))
			for fault.Is(err, fault.Busy) && t.Context().Err() == nil { // other processes use the cores
				_, err = pool.Run(t.Context(), "Acme", task, strings.NewReader(""))
			}
			killed, ok := errors.AsType[*KilledError](err)
			if !ok || !strings.HasPrefix(killed.Reason, want) {
				t.Fatalf("got %v, want a KilledError with %q", err, want)
			}
			if crashed := task == "panic"; strings.Contains(log.String(), "task=panic") != crashed ||
				strings.Contains(log.String(), "sandbox.Main(") != crashed || strings.Contains(log.String()+err.Error(), "secret") {
				t.Errorf("error %v, log: %s", err, log.String())
			}
		})
	}
}

// A child that got almost no processor time says nothing about the input.
func TestNoTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a time limit")
	}
	_, err := New(1, 0, silent).Run(t.Context(), "Acme", "hang", strings.NewReader(""))
	if _, killed := errors.AsType[*KilledError](err); killed || !fault.Is(err, fault.Busy) {
		t.Errorf("got %v", err)
	}
}

// A child that the operator or the kernel ended, or that was refused a thread, says nothing about the input.
func TestEndedFromOutside(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]error{"shot": errEndedFromOutside, "alone": errNoThread} {
		_, err := New(1, 0, silent).Run(t.Context(), "Acme", task, strings.NewReader(""))
		if _, killed := errors.AsType[*KilledError](err); killed || !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", task, err, want)
		}
	}
}

func TestCallerGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, feed := io.Pipe()
	go func() {
		_, _ = feed.Write([]byte("it runs")) // returns when the child reads
		cancel()
		_ = feed.Close()
	}()
	if _, err := New(1, 0, silent).Run(ctx, "Acme", "hang", in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// A child's answer is used, however late a busy machine closes its pipes: here the pipe of its input.
func TestLatePipe(t *testing.T) {
	t.Parallel()
	in, feed := io.Pipe()
	time.AfterFunc(2*time.Second, func() { _ = feed.Close() })
	got, err := New(1, 0, silent).Run(t.Context(), "Acme", "ignore", in)
	if err != nil || string(got) != "did not look" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	const workers, queue, callers = 1, 2, 8
	pool := New(workers, queue, silent)
	errs := make(chan error, callers)
	open := make(chan struct{})
	for i := range callers {
		go func() {
			in, feed := io.Pipe()
			go func() { <-open; _ = feed.Close() }()
			_, err := pool.Run(t.Context(), strconv.Itoa(i), "echo", in)
			errs <- err
		}()
	}
	for range callers - workers - queue {
		err := <-errs
		if !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
			t.Errorf("past the queue: got %v, want Busy with a time to retry after", err)
		}
	}
	close(open)
	for range workers + queue {
		if err := <-errs; err != nil {
			t.Errorf("in the queue: %v", err)
		}
	}
}

func TestLongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := New(1, 1, silent)
		if _, err := pool.queue.Enter(t.Context(), "Acme"); err != nil { // one that does not end
			t.Fatal(err)
		}
		start := time.Now()
		_, err := pool.Run(t.Context(), "Acme", "echo", nil)
		if waited := time.Since(start); !fault.Is(err, fault.Busy) || waited <= maxWall {
			t.Errorf("got %v after %v, want Busy after the time of a child, %v", err, waited, maxWall)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := pool.Run(ctx, "Acme", "echo", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if pool.Running() != 1 || pool.Waiting() != 0 {
			t.Errorf("running %d, waiting %d, want 1 and 0", pool.Running(), pool.Waiting())
		}
	})
}

func TestMainLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"serve"}, {"sandbox"}, {"sandbox", "echo", "more"}} {
		if code, isChild := Main(args, nil, nil, nil, tasks); code != 0 || isChild {
			t.Errorf("%q: got code %d, child %t", args, code, isChild)
		}
	}
}
