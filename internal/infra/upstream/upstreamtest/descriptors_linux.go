package upstreamtest

import (
	"syscall"
	"testing"
)

// WithoutDescriptors calls fn while this process can open no file or socket. The limit applies to the whole process:
// tests that call it must not be parallel.
func WithoutDescriptors(t *testing.T, fn func()) {
	t.Helper()
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
	fn()
}
