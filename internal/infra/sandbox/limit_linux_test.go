package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestNothingAround(t *testing.T) {
	t.Parallel()
	inherited, err := syscall.Dup(2) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	got, err := New(1, 0, silent).Run(t.Context(), "Acme", "look", strings.NewReader(strconv.Itoa(inherited)))
	if err != nil {
		t.Fatal(err)
	}
	want := `dir /
env []
procs 1
fd stat inherited: bad file descriptor
file open /etc/passwd: too many open files
net dial tcp 127.0.0.1:1: socket: too many open files
run fork/exec /bin/true: too many open files
`
	if string(got) != want {
		t.Errorf("the child sees:\n%s\nwant:\n%s", got, want)
	}
}

// Not parallel: it looks at all children.
func TestFirstToGo(t *testing.T) {
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", child(t)))
	if err != nil || string(score) != "1000\n" {
		t.Errorf("got oom_score_adj %q, %v, want 1000", score, err)
	}
}

// The server here has a lower priority and less processor time than a child of another one.
func TestServerWithLimits(t *testing.T) {
	const server, seconds = "HAS_LIMITS", 14
	if os.Getenv(server) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "nice", "-n", "10", self, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), server+"=yes")
		cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
		return
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds}); err != nil {
		t.Fatal(err)
	}
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	id := child(t)
	got, err := syscall.Getpriority(syscall.PRIO_PROCESS, id)
	if want := max(own-6, 1); err != nil || got != want { // 20 minus the nice value
		t.Errorf("got priority %d, %v, want %d", got, err, want)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", id))
	if want := regexp.MustCompile(fmt.Sprintf(`(?m)^Max cpu time +5 +%d `, seconds)); err != nil || !want.Match(limits) {
		t.Errorf("got %s, %v, want a match of %v", limits, err, want)
	}
}

// child starts a child that works until the test ends, and returns its process id.
func child(t *testing.T) (id int) {
	t.Helper()
	in, feed := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := New(1, 0, silent).Run(context.WithoutCancel(t.Context()), "Acme", "echo", in)
		in.CloseWithError(err)
		done <- err
	}()
	if _, err := feed.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds: the child must be reading
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(feed.Close(), <-done); err != nil {
			t.Error(err)
		}
	})
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		status, _ := os.ReadFile(path) // other processes may have ended
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			if id != 0 {
				t.Fatal("there are two children")
			}
			if id, err = strconv.Atoi(filepath.Base(filepath.Dir(path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return id
}
