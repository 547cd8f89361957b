package egress_test

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"foyer/internal/fault"
)

// No host is to blame for what this process lacks. Not parallel: the limit and the
// resolver are the process's.
func TestNoDescriptor(t *testing.T) {
	net.DefaultResolver.PreferGo = true // as a release, which is built without cgo
	defer func() { net.DefaultResolver.PreferGo = false }()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	set := func(limit syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	set(syscall.Rlimit{Cur: 0, Max: limit.Max})
	defer set(limit)
	for _, address := range []string{"http://127.0.0.1:1", "http://no.such.invalid"} {
		_, err := get(t, loopback, address+"/path?token=s3cret")
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "file descriptor") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v", address, err)
		}
	}
}
