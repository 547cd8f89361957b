package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/server"
)

// foyer itself answers OPTIONS * (RFC 9110 section 9.3.7), like a path that does not exist.
func TestNoPath(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	r := must(http.NewRequestWithContext(t.Context(), http.MethodOptions, s.URL, nil))(t)
	r.URL.Path = "*"
	got := do(t, r)
	if got.status != http.StatusNotFound || got.header.Get("X-Request-Id") == "" || !strings.Contains(got.body, `"code":"not_found"`) {
		t.Errorf("got %+v", got)
	}
}

// The server's address shows the reference of the API.
func TestFrontPage(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	front, docs := browse(t, http.MethodGet, s.URL+"/", nil), browse(t, http.MethodGet, s.URL+"/docs", nil)
	if front.status != http.StatusOK || !strings.Contains(front.body, "<title>Reference · foyer</title>") || front.body != docs.body {
		t.Errorf("got %+v", front)
	}
	if got := browse(t, http.MethodPost, s.URL+"/", nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("got %+v", got)
	}
}

// Browsers do not sniff the content type of any answer.
func TestNothingIsSniffed(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	for _, path := range []string{"/docs", "/openapi.yaml", "/openapi.json", "/healthz", "/readyz", "/nowhere", "/api/users/@me", "/invite/x"} {
		if got := browse(t, http.MethodGet, s.URL+path, nil).header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// A server that is stopped while it starts has not failed.
func TestStopWhileItStarts(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		cfg := config.Config{Database: url, DataDir: t.TempDir(), Secret: strings.Repeat("s", 32), Listen: "127.0.0.1:0"}
		log := newLockedBuffer()
		err := server.Server{Config: cfg, Log: slog.New(slog.NewJSONHandler(log, nil)), Stdout: io.Discard}.Run(ctx)
		if err != nil || !strings.Contains(log.String(), `"msg":"stopped"`) {
			t.Errorf("got %v, log: %s", err, log.String())
		}
	})
}
