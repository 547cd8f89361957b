package sandbox

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	in, feed := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := New(1, 0, silent).Run(t.Context(), "Acme", "echo", in)
		done <- err
	}()
	if _, err := feed.Write(make([]byte, 1<<20)); err != nil { // more than a pipe holds: the child must be reading
		t.Fatal(err)
	}
	scores := map[string]string{}
	all, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		status, _ := os.ReadFile(path) // other processes may have ended
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			score, err := os.ReadFile(filepath.Join(filepath.Dir(path), "oom_score_adj"))
			if err != nil {
				t.Error(err)
			}
			scores[path] = strings.TrimSpace(string(score))
		}
	}
	if err := feed.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(scores) != 1 {
		t.Errorf("got %v, want one child", scores)
	}
	for path, score := range scores {
		if score != "1000" {
			t.Errorf("%s: got oom_score_adj %s, want 1000", path, score)
		}
	}
}
