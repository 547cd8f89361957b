package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/server"
)

// The first start makes a site that runs an app; everybody may open its try page.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, demo := range []bool{true, false} {
		_, said := firstStart(t, demo)
		address := regexp.MustCompile(`http://\S+/sites/[A-Z2-7]{26}/try`).FindString(said)
		if demo != (address != "") {
			t.Errorf("with %t: %s", demo, said)
		}
		if !demo {
			continue
		}
		for file, part := range map[string]string{"try": "/loader.js", "manifest.json": `"config":{"greeting":"Hello from foyer!","color":"#2a6f4e"}`} {
			got := browse(t, http.MethodGet, strings.TrimSuffix(address, "try")+file, nil)
			if got.status != http.StatusOK || !strings.Contains(got.body, part) {
				t.Errorf("%s: %+v", file, got)
			}
		}
	}
}

// The first start shows the key before it makes the demo site: if it is killed meanwhile, the key is not lost.
func TestKeyIsShownFirst(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	cfg.Demo = true
	shown, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- server.Server{Config: cfg, Log: slog.New(slog.DiscardHandler), Stdout: out, Leave: 10 * time.Millisecond}.Run(ctx)
		out.Close()
	}()
	first := make([]byte, 1)
	must(io.ReadFull(shown, first))(t)
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
