package server_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"foyer/internal/config"
)

// A lost secret is not replaced silently, since what was derived from it is lost too.
func TestLostSecret(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	must(openDomain(t, cfg).Organizations.Create(t.Context(), "Acme"))(t)
	check(t, os.Remove(cfg.SecretPath())) // made by the first command
	openDomain(t, cfg)
	if _, err := os.Stat(cfg.SecretPath()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a command has made another secret: %v", err)
	}
	for _, warns := range []bool{true, false} {
		if log := start(t, cfg).log.String(); strings.Contains(log, `"level":"WARN","msg":"the secret was lost`) != warns ||
			strings.Contains(log, "webhooks, and stored credentials no longer work") != warns {
			t.Errorf("want a warning: %t; got %s", warns, log)
		}
	}
}

// A secret that is set does not silently replace another one in the data folder.
func TestReplacedSecret(t *testing.T) {
	t.Parallel()
	cfg := config.Config{DataDir: t.TempDir()}
	start(t, cfg)
	stored := must(cfg.ServerSecret())(t)
	for given, warns := range map[string]bool{"": false, stored: false, "another secret of 32 characters": true} {
		cfg.Secret = given
		if log := start(t, cfg).log.String(); strings.Contains(log, `"level":"WARN","msg":"FOYER_SECRET is not the secret in the data folder`) != warns {
			t.Errorf("want a warning: %t; got %s", warns, log)
		}
	}
}

// Sessions do not depend on the secret.
func TestSessionUnderAnotherSecret(t *testing.T) {
	t.Parallel()
	cfg := config.Config{DataDir: t.TempDir()}
	first := start(t, cfg)
	v := visit(t, first, first.key)
	check(t, os.Remove(cfg.SecretPath()))
	v.url = start(t, cfg).URL
	v.want(200, "overview", v.get("/console"))
}
