package server_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/server"
)

const socketBase = "https://foyer.example.com"

// socketPath returns the path for a socket, in its own folder, because a path in t.TempDir may be too long.
func socketPath(t *testing.T) string {
	t.Helper()
	folder := must(os.MkdirTemp("", "foyer"))(t) //nolint:usetesting // see above
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "foyer.sock")
}

// over returns a client that connects to a socket, whatever the url.
func over(t *testing.T, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A server can listen on a unix socket, even if a killed server has left it behind. The owner and the group may
// connect. The socket is removed when the server stops.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	left := must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	left.SetUnlinkOnClose(false)
	left.Close()
	t.Cleanup(func() { // after the server has stopped
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("after the stop: %v", err)
		}
	})
	s := start(t, config.Config{Listen: "unix:" + path, BaseURL: socketBase})
	c := must(client.New("http://foyer", s.key, client.WithHTTPClient(over(t, path))))(t)
	app := must(c.Organization(client.Current).CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))(t)
	if app.Name != "Mine" || s.URL != socketBase {
		t.Errorf("got %+v from %s", app, s.URL)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v, %v", info, err)
	}
}

// A server does not remove a file at the socket's path, unless it is a socket on which no process listens.
func TestSocketPathInUse(t *testing.T) {
	t.Parallel()
	used, file := socketPath(t), socketPath(t)
	ln := must((&net.ListenConfig{}).Listen(t.Context(), "unix", used))(t)
	defer ln.Close()
	check(t, os.WriteFile(file, []byte("mine"), 0o600))
	for _, path := range []string{used, file} {
		cfg := onDisk(t)
		cfg.Listen, cfg.BaseURL = "unix:"+path, socketBase
		err := server.Server{Config: cfg, Log: slog.New(slog.DiscardHandler), Stdout: io.Discard}.Run(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "FOYER_LISTEN: ") || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want an error that names FOYER_LISTEN and %s", err, path)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
