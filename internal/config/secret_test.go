package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestSecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	c := Config{Database: "sqlite:x", DataDir: filepath.Join(t.TempDir(), "new", "data")}
	secrets := make([]string, 50)
	var all sync.WaitGroup
	var makers atomic.Int32
	if s, err := c.ServerSecret(); s != "" || err != nil {
		t.Errorf("before it is made: %q, %v", s, err)
	}
	for i := range secrets {
		all.Go(func() {
			var made bool
			var err error
			if secrets[i], made, err = c.MakeSecret(); err != nil {
				t.Error(err)
			}
			if made {
				makers.Add(1)
			}
		})
	}
	all.Wait()
	if n := makers.Load(); n != 1 {
		t.Errorf("%d have made it", n)
	}
	for _, s := range secrets {
		if s != secrets[0] || len(s) < 32 {
			t.Fatalf("secrets of %d and %d characters differ, or are short", len(s), len(secrets[0]))
		}
	}
	info, err := os.Stat(c.SecretPath())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	files, err := os.ReadDir(c.DataDir)
	if err != nil || len(files) != 1 {
		t.Errorf("%v is left, %v", files, err)
	}
	info, err = os.Stat(c.DataDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSecretThatIsSet(t *testing.T) {
	t.Parallel()
	c := Config{Database: "sqlite:x", DataDir: t.TempDir(), Secret: strings.Repeat("s", 32)}
	if s, err := c.ServerSecret(); err != nil || s != c.Secret {
		t.Error(s, err)
	}
	if _, err := os.Stat(c.SecretPath()); err == nil {
		t.Error("another one was made")
	}
}

func TestSecretThatIsMissingOrShort(t *testing.T) {
	t.Parallel()
	c := Config{Database: "postgres://x", DataDir: t.TempDir()}
	if s, err := c.ServerSecret(); s != "" || err != nil {
		t.Errorf("with PostgreSQL: %q, %v", s, err)
	}
	c.Database = "sqlite:x"
	if err := os.WriteFile(c.SecretPath(), []byte("canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ServerSecret(); err == nil || !strings.Contains(err.Error(), c.SecretPath()) || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
