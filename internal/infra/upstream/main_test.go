package upstream_test

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/sandbox/sandboxtest"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/unpack"
)

// TestMain lets the test binary run as its own child, and trusts the certificate of httptest's servers.
func TestMain(m *testing.M) {
	sandboxtest.EndChild(map[string]sandbox.Task{upstream.UnpackTask: unpack.Run})
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	server := httptest.NewTLSServer(nil)
	server.Close()
	folder, err := os.MkdirTemp("", "upstream-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", file)
	return m.Run()
}
