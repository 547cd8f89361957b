package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"foyer/client"
	"foyer/internal/cli"
	"foyer/internal/domain/access"
	"foyer/internal/infra/upstream/upstreamtest"
)

// serveVariable makes this program a server, for tests that measure its memory.
const serveVariable = "FOYER_TEST_SERVE"

func serveIfAsked() {
	if os.Getenv(serveVariable) != "" {
		os.Exit(cli.Run(context.Background(), []string{"serve"}, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
}

// startProcess runs a server in its own process.
func startProcess(t *testing.T) (s *running, pid int) {
	t.Helper()
	s = &running{key: access.NewKey(), log: newLockedBuffer()}
	cmd := exec.CommandContext(t.Context(), must(os.Executable())(t))
	cmd.Env = []string{
		serveVariable + "=1", "FOYER_LISTEN=127.0.0.1:0", "FOYER_BOOTSTRAP_KEY=" + s.key,
		"FOYER_DATA_DIR=" + filepath.Join(t.TempDir(), "data"), "FOYER_UPSTREAM_ALLOW=127.0.0.0/8", "FOYER_RATE_LIMIT=off",
	}
	cmd.Stderr = s.log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the caller of the tests may ignore SIGINT
	check(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { <-ended })
	select {
	case s.URL = <-s.log.baseURL:
	case err := <-ended:
		ended <- nil
		t.Fatalf("the server did not start: %v\n%s", err, s.log.String())
	}
	return s.as(t, s.key), cmd.Process.Pid
}

// peakMemory returns the most memory that a process has held, in bytes.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("this system does not tell: ", err)
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			return 1024 * must(strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(value)), " kB")))(t)
		}
	}
	t.Fatal("VmHWM is not there")
	return 0
}

// redeclare returns source that takes the compiler minutes.
func redeclare() string {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "let a = %d; const a = 1; function a() {}\n", i)
	}
	return text.String()
}

// untilFree repeats what a server is too busy for: on a machine with other work, a child may get no time.
func untilFree(do func() error) error {
	for {
		err := do()
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusServiceUnavailable {
			return err
		}
	}
}

// Whatever the server compiles or unpacks, it still answers other requests, and its own memory stays small.
func TestHostileWork(t *testing.T) {
	s, pid := startProcess(t)
	bomb := upstreamtest.NewHost(t).Repo(t, "bomb")
	blob := bomb.Blob(t, strings.Repeat("0", 400<<20))
	bomb.CommitTree(t, bomb.Tree(t,
		upstreamtest.Entry{Mode: "100644", Name: "plugin.json", Object: bomb.Blob(t, `{"name": "Bomb"}`)},
		upstreamtest.Entry{Mode: "100644", Name: "site.ts", Object: blob},
	))
	bomb.Git(t, "", "repack", "-adq") // otherwise the host would spend the time of a fetch on compressing it
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))(t)
	save := func(text string) func() {
		return func() {
			var got client.AppSource
			err := untilFree(func() (err error) {
				got, err = s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": &text}})
				return err
			})
			if err != nil || got.SourceFiles[0].Status != "error" || !strings.Contains(got.SourceFiles[0].Error, "stopped") || got.Source["site.ts"] != text {
				t.Errorf("got %+v, %v", got.SourceFiles, err)
			}
		}
	}
	for name, work := range map[string]func(){
		"300 KB of (":  save(strings.Repeat("(", 300_000)),
		"10,000 lines": save(redeclare()),
		"400 MB pack": func() {
			err := untilFree(func() error {
				_, err := s.CreateApp(t.Context(), custom(bomb, ""))
				return err
			})
			refused(t, err, http.StatusBadRequest, "invalid_input", "url")
		},
	} {
		t.Run(name, func(t *testing.T) {
			answered, done := 0, make(chan struct{})
			go func() {
				defer close(done)
				work()
			}()
			for working := true; working; {
				must(s.GetApp(t.Context(), app.ID))(t)
				select {
				case <-done:
					working = false
				default:
					answered++
				}
			}
			const pace = 50 // a blocked server answers one or two; this one at least hundreds
			if answered < pace {
				t.Errorf("%d other requests were answered meanwhile, want %d", answered, pace)
			}
			if peak := peakMemory(t, pid); peak > 100<<20 && !raceEnabled {
				t.Errorf("the server took %d MB", peak>>20)
			} else {
				t.Logf("%d requests meanwhile, %d MB at most", answered, peak>>20)
			}
		})
	}
}
