package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"foyer/internal/access"
	"foyer/internal/db/dbtest"
)

// instance is a server of the built program, for tests that a script cannot tell.
type instance struct {
	*testing.T
	url string
	cmd *exec.Cmd
	mu  sync.Mutex
	log bytes.Buffer
	eof chan struct{} // closed when the program has ended
}

// settings are variables of the program, without FOYER_.
type settings map[string]string

// newSettings are those of a server with a mail server, on an empty database.
func newSettings(t *testing.T, engine, smtp string) settings {
	s := settings{
		"DATA_DIR": filepath.Join(t.TempDir(), "data"), "LISTEN": "127.0.0.1:0", "BASE_URL": "https://foyer.example", "SMTP": smtp,
		"BOOTSTRAP_KEY": access.NewKey(), "BOOTSTRAP_EMAIL": "grace@acme.example", "INVITE_LIMIT": "off", "RATE_LIMIT": "off",
	}
	if engine == "postgres" {
		s["DATABASE"], s["SECRET"] = dbtest.Postgres(t), "0123456789abcdef0123456789abcdef"
	}
	return s
}

// launch starts a server and returns once it listens.
func launch(t *testing.T, s settings) *instance {
	t.Helper()
	i := &instance{T: t, cmd: exec.Command(filepath.Join(binary, "foyer"), "serve"), eof: make(chan struct{})}
	for name, value := range s {
		i.cmd.Env = append(i.cmd.Env, "FOYER_"+name+"="+value)
	}
	stderr, err := i.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go i.follow(stderr, address)
	t.Cleanup(i.kill)
	select {
	case i.url = <-address:
	case <-i.eof:
		t.Fatalf("the server has ended:\n%s", i.said())
	}
	return i
}

func (i *instance) follow(stderr io.Reader, address chan<- string) {
	defer close(i.eof)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		i.mu.Lock()
		i.log.WriteString(lines.Text() + "\n")
		i.mu.Unlock()
		if m := regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`).FindStringSubmatch(lines.Text()); m != nil {
			address <- "http://" + m[1]
		}
	}
}

func (i *instance) said() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.log.String()
}

// kill ends the program as a power failure would.
func (i *instance) kill() {
	i.cmd.Process.Kill()
	<-i.eof
	i.cmd.Wait()
}

// stop ends the program as a service manager would.
func (i *instance) stop() {
	i.Helper()
	i.cmd.Process.Signal(syscall.SIGTERM)
	<-i.eof
	if err := i.cmd.Wait(); err != nil {
		i.Errorf("%v\n%s", err, i.said())
	}
}

// call sends a request to the key's organization, and returns the answer.
func (i *instance) call(key, method, path, body string, status int) string {
	i.Helper()
	r, err := http.NewRequest(method, i.url+"/api/organizations/@current"+path, strings.NewReader(body))
	if err != nil {
		i.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		i.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		i.Fatalf("%s %s: %d %s, %v", method, path, response.StatusCode, text, err)
	}
	return string(text)
}
