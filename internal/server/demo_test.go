package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/config"
	"foyer/internal/infra/db"
	"foyer/internal/server"
)

// The first start makes a site that runs an app; everybody may open its try page.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, demo := range []bool{true, false} {
		log, out := newLockedBuffer(), &bytes.Buffer{}
		dir := t.TempDir()
		cfg := config.Config{
			Listen: "127.0.0.1:0", DataDir: dir, Database: "sqlite:" + filepath.Join(dir, "foyer.db"), InviteTTL: time.Hour, Demo: demo,
		}
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() {
			stopped <- server.Server{Config: cfg, Log: slog.New(slog.NewJSONHandler(log, nil)), Stdout: out, Leave: 10 * time.Millisecond}.Run(ctx)
		}()
		<-log.baseURL // the first start is complete
		address := regexp.MustCompile(`http://\S+/sites/[A-Z2-7]{26}/try`).FindString(out.String())
		if demo != (address != "") {
			t.Errorf("with %t: %s", demo, out)
		}
		if demo {
			readDemo(t, address)
		}
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

// The first start shows the key before it makes the demo site: if it is killed meanwhile, the key is not lost.
func TestKeyIsShownFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := config.Config{
		Listen: "127.0.0.1:0", DataDir: dir, Database: "sqlite:" + filepath.Join(dir, "foyer.db"), InviteTTL: time.Hour, Demo: true,
	}
	shown, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- server.Server{Config: cfg, Log: slog.New(slog.DiscardHandler), Stdout: out, Leave: 10 * time.Millisecond}.Run(ctx)
		out.Close()
	}()
	first := make([]byte, 1)
	if _, err := io.ReadFull(shown, first); err != nil {
		t.Fatal(err)
	}
	d := must(db.Open(t.Context(), cfg.Database))(t)
	defer d.Close()
	if n, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM sites`); err != nil || n != 0 {
		t.Errorf("%d sites, %v", n, err)
	}
	text := make([]byte, 2000)
	n, err := shown.Read(text)
	if err != nil || !strings.Contains(string(text[:n]), "foy_") {
		t.Errorf("%s, %v", text[:n], err)
	}
	stop()
	if _, err := io.Copy(io.Discard, shown); err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func readDemo(t *testing.T, address string) {
	t.Helper()
	for file, part := range map[string]string{"try": "/loader.js", "manifest.json": `"config":{"greeting":"Hello from foyer!","color":"#2a6f4e"}`} {
		r, err := http.Get(strings.TrimSuffix(address, "try") + file)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(body), part) {
			t.Errorf("%s: %d %s, %v", file, r.StatusCode, body, err)
		}
	}
}
