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
