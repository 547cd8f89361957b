package limitedconn

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestConn(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		defer there.Close()
		_, _ = there.Write(make([]byte, 100))
	}()
	tooMuch := errors.New("too much")
	got, err := io.ReadAll(New(here, 60, tooMuch))
	if len(got) != 60 || !errors.Is(err, tooMuch) {
		t.Errorf("read %d bytes, error %v; want 60 and tooMuch", len(got), err)
	}
}
