package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Closing a terminal stops a server as a service manager does, even if the shell sends the signal first, and the kernel again.
func TestHangup(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	ready := func() bool {
		res, err := http.Get(i.url + "/readyz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	for !ready() {
		pause()
	}
	conn := unfinishedRequest(t, i.url, s["BOOTSTRAP_KEY"]) // it stops only after that ends
	check(t, i.cmd.Process.Signal(syscall.SIGHUP))
	for ready() {
		pause()
	}
	check(t, i.cmd.Process.Signal(syscall.SIGHUP))
	conn.Close()
	if err := i.awaitEnd(); err != nil || !strings.Contains(i.said(), `"stopped"`) {
		t.Errorf("%v\n%s", err, i.said())
	}
}

// unfinishedRequest sends a request without its body. The server has begun to read it.
func unfinishedRequest(t *testing.T, url, key string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", address)
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /api/organizations/@current/sites HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", address, key)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	return conn
}

// The reader of the log may exit: the server goes on.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	log, into, err := os.Pipe()
	check(t, err)
	defer log.Close()
	cmd := exec.Command(filepath.Join(binary, "foyer"), "serve")
	cmd.Env, cmd.Dir, cmd.Stderr = []string{"FOYER_LISTEN=127.0.0.1:0"}, t.TempDir(), into
	check(t, cmd.Start())
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
		check(t, err)
		res.Body.Close()
	}
	check(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
