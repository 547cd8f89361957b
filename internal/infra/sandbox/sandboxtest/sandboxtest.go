// Package sandboxtest lets tests run children.
package sandboxtest

import (
	"os"
	"testing"

	"foyer/internal/infra/sandbox"
)

// Main is a TestMain that lets the test binary run as its own child, as cmd/foyer does.
func Main(m *testing.M, tasks map[string]sandbox.Task) {
	EndChild(tasks)
	os.Exit(m.Run())
}

// EndChild does the work of a child and exits, if this process is one.
func EndChild(tasks map[string]sandbox.Task) {
	if code, isChild := sandbox.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, tasks); isChild {
		os.Exit(code)
	}
}
