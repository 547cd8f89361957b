package server_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/sandbox/sandboxtest"
	"foyer/internal/infra/trace"
	"foyer/internal/infra/upstream/upstreamtest"
	"foyer/internal/server"
)

func TestMain(m *testing.M) {
	sandboxtest.EndChild(server.Tasks())
	serveIfAsked()
	os.Exit(m.Run())
}

// running is a server under test, and its first organization's owner.
type running struct {
	*client.Organization
	URL string
	key string
	log *lockedBuffer
}

// each starts a server on each engine.
func each(t *testing.T, test func(t *testing.T, s *running)) {
	t.Helper()
	dbtest.EachURL(t, func(t *testing.T, url string) { test(t, start(t, config.Config{Database: url})) })
}

// start runs a server on a free port until the test ends; settings that cfg leaves empty get values for tests.
func start(t *testing.T, cfg config.Config) *running {
	t.Helper()
	return startTraced(t, cfg, nil)
}

// startMailing is start with a mail server that takes the mails.
func startMailing(t *testing.T, cfg config.Config) (*running, *mailtest.Server) {
	t.Helper()
	mails := mailtest.Start(t, mailtest.Config{})
	cfg.SMTP, cfg.MailFrom = mails.URL(), "foyer@foyer.example"
	return start(t, cfg), mails
}

// onDisk returns settings for several servers or commands on one SQLite database.
func onDisk(t *testing.T) config.Config {
	t.Helper()
	dir := t.TempDir()
	return config.Config{DataDir: dir, Database: "sqlite:" + filepath.Join(dir, "foyer.db"), Listen: "127.0.0.1:0", InviteTTL: time.Hour}
}

// as returns the server as another user sees it.
func (s *running) as(t *testing.T, key string) *running {
	t.Helper()
	return &running{must(client.New(s.URL, key))(t).Organization(client.Current), s.URL, key, s.log}
}

// openDomain opens the database in the settings until the test ends, as a command does.
func openDomain(t *testing.T, cfg config.Config) *server.Domain {
	t.Helper()
	d := must(server.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)))(t)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func startTraced(t *testing.T, cfg config.Config, tracer *trace.Tracer) *running {
	t.Helper()
	cfg.Bootstrap.Key = cmp.Or(cfg.Bootstrap.Key, access.NewKey())
	cfg.Bootstrap.Email = cmp.Or(cfg.Bootstrap.Email, "grace@acme.example")
	cfg.DataDir = cmp.Or(cfg.DataDir, t.TempDir())
	cfg.Database = cmp.Or(cfg.Database, "sqlite:"+filepath.Join(cfg.DataDir, "foyer.db"))
	if !cfg.SQLite() {
		cfg.Secret = "a secret that all servers of the tests share"
	}
	if cfg.UpstreamAllow == nil {
		cfg.UpstreamAllow = upstreamtest.Allow()
	}
	return run(t, server.Server{Config: cfg, Stdout: io.Discard, Tracer: tracer, Leave: 10 * time.Millisecond}, func() string { return cfg.Bootstrap.Key })
}

// run runs a server until the test ends; key returns the first owner's key once it listens.
func run(t *testing.T, srv server.Server, key func() string) *running {
	t.Helper()
	s := &running{log: newLockedBuffer()}
	srv.Log = slog.New(slog.NewJSONHandler(s.log, nil))
	srv.Config.Listen = cmp.Or(srv.Config.Listen, "127.0.0.1:0")
	srv.Config.InviteTTL = cmp.Or(srv.Config.InviteTTL, time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the server: %v\n%s", err, s.log.String())
		}
	})
	select {
	case s.URL = <-s.log.baseURL:
	case err := <-stopped:
		stopped <- nil
		t.Fatalf("the server did not start: %v", err)
	}
	return s.as(t, key())
}

// lockedBuffer stores a server's log and finds its base url there.
type lockedBuffer struct {
	baseURL chan string

	mu  sync.Mutex
	all bytes.Buffer
}

func newLockedBuffer() *lockedBuffer { return &lockedBuffer{baseURL: make(chan string, 1)} }

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	b.all.Write(text) // before anybody who learns that the server listens reads it
	b.mu.Unlock()
	for line := range bytes.Lines(text) { // another process may write several at once
		var entry struct {
			Msg     string `json:"msg"`
			BaseURL string `json:"base_url"`
		}
		if json.Unmarshal(line, &entry) == nil && entry.Msg == "listening" {
			b.baseURL <- entry.BaseURL
		}
	}
	return len(text), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// keyFor makes another key of the user of s.key, with some scopes.
func (s *running) keyFor(t *testing.T, scopes ...string) string {
	t.Helper()
	c := must(client.New(s.URL, s.key))(t)
	return must(c.CreateKey(t.Context(), client.KeyDraft{Scopes: scopes}))(t).APIKey
}

// address returns the address that the log has with a message.
func (s *running) address(t *testing.T, message string) string {
	t.Helper()
	logged := regexp.MustCompile(`"msg":"` + message + `","address":"([^"]+)"`).FindStringSubmatch(s.log.String())
	if logged == nil {
		t.Fatalf("no address in the log: %s", s.log)
	}
	return logged[1]
}

// send makes a request with the owner's key; path is below the organization's apps.
func (s *running) send(t *testing.T, method, path, body string) answer {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, s.URL+"/api/organizations/@current/pipeline_frontend_apps"+path, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return do(t, r)
}

// browse makes a request without a key.
func browse(t *testing.T, method, url string, header http.Header) answer {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	maps.Copy(r.Header, header)
	return do(t, r)
}

type answer struct {
	status int
	header http.Header
	body   string
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	w, err := http.DefaultClient.Do(r)
	check(t, err)
	defer w.Body.Close()
	body := must(io.ReadAll(w.Body))(t)
	return answer{w.StatusCode, w.Header, string(body)}
}

// refused checks that err is a refusal with a status, a code and the name of a field.
func refused(t *testing.T, err error, status int, code, attr string) {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != status || e.Code != code || e.Attr != attr {
		t.Errorf("got %v, want %d %s %q", err, status, code, attr)
	}
}

// check ends the test with an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns what a call has returned, or ends the test with its error: must(call())(t).
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func itoa(id int64) string { return strconv.FormatInt(id, 10) }
