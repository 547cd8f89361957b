package egress

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestLimitedConn(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = there.Write(make([]byte, 100))
	}()
	got, err := io.ReadAll(&limitedConn{Conn: here, left: 60})
	if len(got) != 60 || !errors.Is(err, errTooMuch) {
		t.Errorf("read %d bytes, error %v; want 60 and errTooMuch", len(got), err)
	}
}
