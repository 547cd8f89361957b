package server

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"foyer/internal/config"
)

// loadSecret returns what the server derives its keys from: FOYER_SECRET, or what
// is kept in the data folder, made once. With PostgreSQL, whose servers must share
// it, there is none but the one that is set.
func loadSecret(cfg config.Config) ([]byte, error) {
	if cfg.Secret != "" || !cfg.SQLite() {
		return []byte(cfg.Secret), nil
	}
	path := cfg.SecretPath()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecret(path); err != nil {
			return nil, fmt.Errorf("make the server's secret: %w", err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the server's secret: %w", err)
	}
	return []byte(strings.TrimSpace(string(text))), nil
}

// makeSecret writes a new secret, at once and only if there is none: another
// process may do the same.
func makeSecret(path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "secret.*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	var secret [32]byte
	rand.Read(secret[:]) // never fails
	_, err = f.WriteString(hex.EncodeToString(secret[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
