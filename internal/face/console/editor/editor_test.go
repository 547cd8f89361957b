package editor_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"foyer/internal/base/compress"
)

// The checked-in script was made from the sources it names. Making it again needs the packages from npm.
func TestGenerated(t *testing.T) {
	t.Parallel()
	var of []byte
	for _, name := range []string{"editor.ts", "package-lock.json"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, content...)
	}
	made, err := os.ReadFile("editor.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(compress.Embedded(made).Plain()), fmt.Sprintf("/* Made by go generate of %x\n", sha256.Sum256(of))) {
		t.Error("editor.js.gz is not of this editor.ts and package-lock.json: go generate ./internal/face/console/editor")
	}
}
