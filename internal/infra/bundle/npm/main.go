// Command npm builds a script with libraries: it compiles SCRIPT.ts and the packages that package-lock.json beside it
// pins to SCRIPT.js.gz, which begins with the hash of its sources and the packages' licences.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"foyer/internal/base/compress"
	"foyer/internal/infra/bundle"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: npm SCRIPT.ts SCRIPT.js.gz")
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func generate(from, to string) error {
	source, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	folder, err := install()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	code, packages, err := bundle.Library(string(source), folder)
	if err != nil {
		return err
	}
	licences, err := licences(folder, packages)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "/* Made by go generate of %x\n\n%s*/\n%s", sha256.Sum256(append(source, lock...)), licences, code)
	return os.WriteFile(to, compress.Gzip(out.Bytes()), 0o644)
}

// install installs the pinned packages in a temporary folder.
func install() (string, error) {
	folder, err := os.MkdirTemp("", "editor")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		content, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	npm := exec.CommandContext(context.Background(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir, npm.Stderr = folder, os.Stderr
	return folder, npm.Run()
}

// licences returns the text of each licence, after the names of the packages that have it.
func licences(folder string, packages []string) (string, error) {
	of := map[string][]string{}
	var texts []string
	for _, name := range packages {
		text, err := os.ReadFile(filepath.Join(folder, "node_modules", name, "LICENSE"))
		if err != nil {
			return "", err
		}
		if strings.Contains(string(text), "*/") {
			return "", errors.New(name + ": its licence would end the comment")
		}
		key := strings.TrimSpace(string(text))
		if !slices.Contains(texts, key) {
			texts = append(texts, key)
		}
		of[key] = append(of[key], name)
	}
	var all strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&all, "%s:\n\n%s\n\n", strings.Join(of[text], ", "), text)
	}
	return all.String(), nil
}
