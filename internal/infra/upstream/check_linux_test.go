package upstream_test

import (
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream/upstreamtest"
)

// If no file descriptor was left for a request, the next call makes it again. Not parallel: the limit applies to the
// whole process.
func TestCheckWithoutDescriptor(t *testing.T) {
	_, repo := released(t)
	clock := newClock()
	source := newSource(clock)
	var err error
	upstreamtest.WithoutDescriptors(t, func() { _, _, err = source.Check(t.Context(), "Acme", parse(t, repo.URL)) })
	if !fault.Is(err, fault.Internal) {
		t.Errorf("error %v", err)
	}
	check(t, source, clock, repo.URL, "v1.0.0", 0)
}
