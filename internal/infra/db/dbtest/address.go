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
	nextPort  atomic.Int64 // counted from that
)

// FreeAddress returns where a server can listen that is started later, also again after it was killed. Nobody else gets its port:
// it is below those that systems give to whoever asks for any, as other tests do meanwhile.
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
