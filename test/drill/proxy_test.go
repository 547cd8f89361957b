//go:build drill

package drill

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"foyer/internal/infra/db/dbtest"
)

// proxies are programs for which docs/operating.md has a configuration.
var proxies = map[string]struct {
	config func(t *testing.T, address string) string
	args   []string
	failed int // how many of ten thousand requests may fail
}{
	"haproxy": {
		func(t *testing.T, address string) string {
			return documented(t, "haproxy", "") + "\nfrontend clients\n    bind " + address + "\n    default_backend foyer\n"
		},
		[]string{"-f"},
		0,
	},
	"nginx": {
		func(t *testing.T, address string) string {
			upstream, server, _ := strings.Cut(documented(t, "nginx", "max_fails"), "# in server:")
			return `daemon off; pid nginx.pid; error_log error.log; events {} http { access_log off; ` + upstream + ` server { listen ` + address +
				`; proxy_http_version 1.1; proxy_set_header Connection "";` + server + ` location / { proxy_pass http://foyer; } } }`
		},
		[]string{"-p", ".", "-c"},
		10,
	},
}

// documented returns the configuration in docs/operating.md that is in a language and contains a word.
func documented(t *testing.T, language, word string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], word) {
			return block[1]
		}
	}
	t.Fatalf("no configuration of %s has %q", language, word)
	return ""
}

var documentedServer = regexp.MustCompile(`( *server.*)10\.0\.0\.[12]:8000(.*\n)`)

// Clients do not notice when servers are restarted in turn behind a proxy that is configured as documented.
func TestProxies(t *testing.T) {
	t.Parallel()
	if !long {
		t.Skip("needs nginx and HAProxy: DRILL=long")
	}
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, right(), dbtest.Empty(t), 3)
			address, n := dbtest.FreeAddress(t), 0
			config := documentedServer.ReplaceAllStringFunc(p.config(t, address), func(line string) string {
				n++
				if n == 2 {
					return strings.Replace(line, "10.0.0.2:8000", f.servers[1].address, 1) +
						strings.NewReplacer("server b ", "server c ", "10.0.0.2:8000", f.servers[2].address).Replace(line)
				}
				return strings.Replace(line, "10.0.0.1:8000", f.servers[0].address, 1)
			})
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(name, append(p.args, "config")...)
			cmd.Dir, cmd.Stderr, cmd.Stdout = dir, f, f
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Signal(syscall.SIGTERM) // nginx ends its children
				_ = cmd.Wait()
			}()
			l := f.load()
			l.url = func(int) string { return "http://" + address }
			eventually(t, name+" listens", func() bool { return ready(l.url(0)) })
			end := l.start()
			defer end()
			for i := range 12 {
				l.await(t, done, 500)
				f.stop(t, i%3)
				f.start(t, i%3)
				time.Sleep(time.Second) // until the proxy has noticed
			}
			end()
			failed := 0
			for _, r := range l.requests {
				if r.verdict != done && r.kind.verb != "accept" {
					failed++
					t.Logf("%s %s %s: %d", r.id, r.kind.verb, r.kind.what, r.status)
				}
			}
			t.Logf("%d of %d requests have failed", failed, len(l.requests))
			if failed*10_000 > p.failed*len(l.requests) {
				t.Error("too many")
			}
			f.report(t, l, f.check(t, l, 0))
		})
	}
}
