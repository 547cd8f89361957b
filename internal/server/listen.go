package server

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// socketMode lets the owner and the group of a unix socket connect; the proxy's user joins the group.
const socketMode = 0o660

// listen opens the address or the unix socket of FOYER_LISTEN. Closing the listener removes
// the socket.
func (s Server) listen(ctx context.Context) (net.Listener, error) {
	path := s.Config.Socket()
	if path == "" {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", s.Config.Listen)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// removeStale removes a socket on which no process listens: a killed server leaves its socket behind. It leaves any
// other file, and Listen reports that the path is in use.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return nil //nolint:nilerr // Listen says what is wrong
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return os.Remove(path)
	}
	return nil
}
