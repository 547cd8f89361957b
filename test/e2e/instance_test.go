package e2e

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

// instance is a server for tests that cannot be scripts.
type instance struct {
	*testing.T
	*process
	url string
}

// settings are variables of the program, without FOYER_.
type settings map[string]string

// newSettings returns the settings of a server with a mail server, on an empty database.
func newSettings(t *testing.T, engine, smtp string) settings {
	s := settings{
		"DATA_DIR": filepath.Join(t.TempDir(), "data"), "LISTEN": "127.0.0.1:0", "BASE_URL": "https://foyer.example", "SMTP": smtp,
		"BOOTSTRAP_KEY": access.NewKey(), "BOOTSTRAP_EMAIL": "grace@acme.example", "INVITE_LIMIT": "off", "RATE_LIMIT": "off",
	}
	if engine == "postgres" {
		s["DATABASE"], s["SECRET"] = dbtest.Empty(t), "0123456789abcdef0123456789abcdef"
	}
	return s
}

// env returns the variables that the program reads them from.
func (s settings) env() (env []string) {
	for name, value := range s {
		env = append(env, "FOYER_"+name+"="+value)
	}
	return env
}

// launch starts a server and returns once it listens.
func launch(t *testing.T, s settings) *instance {
	t.Helper()
	p, err := startProcess(s.env(), "", nil, io.Discard)
	check(t, err)
	t.Cleanup(p.kill)
	i := &instance{T: t, process: p}
	if i.url, err = p.awaitURL(); err != nil {
		t.Fatal(err)
	}
	return i
}

// command returns a call of the command line on the server at a url, which is not started yet.
func command(t *testing.T, url, key string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), filepath.Join(binary, "foyer"), args...)
	cmd.Env = []string{"FOYER_URL=" + url, "FOYER_KEY=" + key}
	return cmd
}

// stop ends the program as a service manager would. It must exit with 0.
func (i *instance) stop() {
	i.Helper()
	if err := i.process.stop(); err != nil {
		i.Error(err)
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
