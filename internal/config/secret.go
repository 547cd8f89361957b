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

// ErrNoSecret means that a secret must be set.
var ErrNoSecret = errors.New("FOYER_SECRET: must be set with PostgreSQL, the same on every server: 32 characters or more")

// ServerSecret returns the secret that links and sealed texts are derived from:
// the setting or, with SQLite, the one in the data folder, which is made when first
// asked for. It must never be logged; that it was just made should be.
func (c *Config) ServerSecret() (text string, made bool, err error) {
	if c.Secret != "" {
		return c.Secret, false, nil
	}
	if !c.SQLite() {
		return "", false, ErrNoSecret
	}
	path := c.SecretPath()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if made, err = makeSecret(path); err != nil {
			return "", false, fmt.Errorf("make the secret: %w", err)
		}
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return "", false, err
	}
	text = strings.TrimSpace(string(content))
	if err := secret(text); err != nil {
		return "", false, fmt.Errorf("%s: %w", path, err)
	}
	return text, made, nil
}

// makeSecret writes a new secret beside its place and links it there: only one of
// several starters can, and none is left half-written.
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
