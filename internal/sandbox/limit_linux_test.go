package sandbox

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestNothingAround(t *testing.T) {
	t.Parallel()
	inherited, err := syscall.Dup(2) // not marked to be closed on exec
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
