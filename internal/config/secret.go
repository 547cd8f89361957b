package config

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ServerSecret returns the secret from which links and keys for sealed texts are derived: the setting or, with SQLite,
// the secret in the data folder. "": there is none. It must never be logged.
func (c *Config) ServerSecret() (string, error) {
	if c.Secret != "" || !c.SQLite() {
		return c.Secret, nil
	}
	path := c.SecretPath()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(content))
	if err := secret(text); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// MakeSecret puts a secret into the data folder, unless another process has just done so, and returns what ServerSecret
// returns then.
func (c *Config) MakeSecret() (text string, made bool, err error) {
	if made, err = makeSecret(c.SecretPath()); err != nil {
		return "", false, fmt.Errorf("make the secret: %w", err)
	}
	text, err = c.ServerSecret()
	return text, made, err
}

// makeSecret writes a new secret to a temporary file and links it to its path: of several processes only one can, and
// none leaves a half-written secret.
func makeSecret(path string) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return false, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text() + rand.Text() + "\n") // 260 bits
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, err
	}
	err = os.Link(f.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	made = err == nil
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	return made, errors.Join(folder.Sync(), folder.Close())
}
