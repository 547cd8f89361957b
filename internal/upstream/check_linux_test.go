package upstream_test

import (
	"syscall"
	"testing"

	"foyer/internal/fault"
	"foyer/internal/upstream/upstreamtest"
)

// An upstream that could not be asked for want of a file descriptor is asked at the
// next call. Not parallel: the limit is the process's.
func TestCheckWithoutDescriptor(t *testing.T) {
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Tag(t, "v1.0.0", repo.Commit(t, app()))
	source := newSource(newClock())
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
	_, _, err := source.Check(t.Context(), "Acme", parse(t, repo.URL))
	set(limit)
	if !fault.Is(err, fault.Internal) {
		t.Errorf("error %v", err)
	}
	check(t, source, repo.URL, "v1.0.0", 0)
}
