package dbtest

import (
	"errors"
	"syscall"
	"testing"
)

// WithinFileSize runs fn while no file of the process may grow beyond a size in bytes, as on a full disk.
func WithinFileSize(tb testing.TB, size uint64, fn func() error) error {
	tb.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		tb.Fatal(err)
	}
	least := limit
	least.Cur = size
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &least); err != nil {
		tb.Fatal(err)
	}
	return errors.Join(fn(), syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
}
