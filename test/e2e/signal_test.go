package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A terminal that is closed stops a server as a service manager does, also where its shell sends the signal, and then the kernel.
func TestHangup(t *testing.T) {
	t.Parallel()
	p, err := startProcess([]string{"FOYER_LISTEN=127.0.0.1:0"}, t.TempDir(), nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	url, err := p.awaitURL()
	if err != nil {
		t.Fatal(err)
	}
	ready := func() bool {
		res, err := http.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	for !ready() {
		pause()
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for ready() {
		pause()
	}
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := p.awaitEnd(); err != nil || !strings.Contains(p.said(), `"stopped"`) {
		t.Errorf("%v\n%s", err, p.said())
	}
}

// Whoever reads the log may go: the server goes on.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	log, into, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(binary, "foyer"), "serve")
	cmd.Env, cmd.Dir, cmd.Stderr = []string{"FOYER_LISTEN=127.0.0.1:0"}, t.TempDir(), into
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	into.Close()
	address := ""
	for lines := bufio.NewScanner(log); address == "" && lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
	}
	log.Close()
	for _, path := range []string{"/nowhere", "/nowhere", "/healthz"} { // two lines of the log, and none
		res, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
