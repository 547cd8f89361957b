package egress_test

import (
	"net"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/infra/upstream/upstreamtest"
)

// No host is blamed when this process lacks a descriptor. Not parallel: the limit and the resolver belong to the process.
func TestNoDescriptor(t *testing.T) {
	net.DefaultResolver.PreferGo = true // like a release, which is built without cgo
	defer func() { net.DefaultResolver.PreferGo = false }()
	for _, address := range []string{"http://127.0.0.1:1", "http://no.such.invalid"} {
		var err error
		upstreamtest.WithoutDescriptors(t, func() { _, err = get(t, loopback, address+"/path?token=s3cret") })
		if !fault.Is(err, fault.Internal) || !strings.Contains(err.Error(), "file descriptor") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v", address, err)
		}
	}
}
