package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A client that a generator of others makes of the server's own document compiles strictly, and
// drives the server.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("typescript")); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"},
		{filepath.Join(dir, "node_modules", ".bin", "openapi-typescript"), i.url + "/openapi.json", "--output", "api.d.ts"},
		{filepath.Join(dir, "node_modules", ".bin", "tsc"), "--project", "."},
		{"node", filepath.Join("out", "drive.js"), i.url, s["BOOTSTRAP_KEY"]},
	} {
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command[0], err, out)
		}
	}
}
