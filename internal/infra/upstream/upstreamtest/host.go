// Package upstreamtest is a git host for tests: the real git http-backend on loopback, for repositories that a test makes
// with the git program.
package upstreamtest

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Host is a git host. Its methods may be used from several goroutines.
type Host struct {
	URL string // http://127.0.0.1:port

	root      string
	requests  atomic.Int64
	intercept atomic.Pointer[Interceptor]
}

// Interceptor may respond to a request instead of the host; it reports whether it did.
type Interceptor func(w http.ResponseWriter, r *http.Request) bool

// Allow returns the value of FOYER_UPSTREAM_ALLOW that lets foyer reach a Host.
func Allow() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// NewHost starts a host without repositories and stops it at the end of the test.
func NewHost(tb testing.TB) *Host {
	tb.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		tb.Fatalf("tests of installing need git: %v", err)
	}
	h := &Host{root: tb.TempDir()}
	backend := &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Env: append(environment(),
			"GIT_PROJECT_ROOT="+h.root,
			"GIT_HTTP_EXPORT_ALL=1",
		),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		if answer := h.intercept.Load(); answer == nil || !(*answer)(w, r) {
			backend.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(server.Close)
	h.URL = server.URL
	return h
}

// Requests returns how many HTTP requests the host has received.
func (h *Host) Requests() int { return int(h.requests.Load()) }

// Intercept makes f handle every request first from now on; nil ends that.
func (h *Host) Intercept(f Interceptor) {
	if f == nil {
		h.intercept.Store(nil)
		return
	}
	h.intercept.Store(&f)
}

// Fail makes the host respond to every request with a status from now on.
func (h *Host) Fail(status int) {
	h.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		return true
	})
}

// Repo makes an empty repository, whose default branch is "main".
func (h *Host) Repo(tb testing.TB, name string) *Repo {
	tb.Helper()
	r := &Repo{URL: h.URL + "/" + name, folder: filepath.Join(h.root, name)}
	r.git(tb, "", "init", "--quiet", "--bare", "--initial-branch=main", r.folder)
	r.Git(tb, "", "config", "gc.auto", "0")
	return r
}

// environment returns all environment variables of git.
func environment() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.org",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.org",
	}
}

// Repo is a repository of a Host.
type Repo struct {
	URL    string
	folder string
}

// Git runs the git program on the repository and returns what it printed,
// without white space around it.
func (r *Repo) Git(tb testing.TB, stdin string, args ...string) string {
	tb.Helper()
	return r.git(tb, stdin, append([]string{"--git-dir=" + r.folder}, args...)...)
}

func (r *Repo) git(tb testing.TB, stdin string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Env = append(environment(), "PATH=/usr/local/bin:/usr/bin:/bin")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		tb.Fatalf("git %q: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(output))
}
