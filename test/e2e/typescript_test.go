package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A client that a third-party generator makes from the server's own document compiles strictly, and drives the server.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	programs := buildTypeScript(t, i.url, nil)
	if out, err := exec.CommandContext(t.Context(), "node", filepath.Join(programs, "drive.js"), i.url, s["BOOTSTRAP_KEY"]).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// buildTypeScript compiles drive.ts and more programs, with the types of a server, and returns the folder of the compiled
// programs.
func buildTypeScript(t *testing.T, url string, more map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS("typescript")))
	for name, source := range more {
		writeFile(t, filepath.Join(dir, name), source)
	}
	for _, command := range [][]string{
		{"npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"},
		{filepath.Join(dir, "node_modules", ".bin", "openapi-typescript"), url + "/openapi.json", "--output", "api.d.ts"},
		{filepath.Join(dir, "node_modules", ".bin", "tsc"), "--project", "."},
	} {
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command[0], err, out)
		}
	}
	return filepath.Join(dir, "out")
}
