//go:build unix

package dbtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
)

var (
	firstPort = 20_000 + rand.Int64N(6_000)
	nextPort  atomic.Int64 // counted from firstPort
)

// FreeAddress returns an address for a server that is started later, or restarted after it was killed. Nobody else gets
// its port: it is below the range that systems use for port 0, as other tests request it.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+nextPort.Add(1))
		ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		ln.Close()
		return address
	}
}
