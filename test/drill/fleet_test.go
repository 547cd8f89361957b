//go:build drill

package drill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/mail/mailtest"
)

// wrongs are changes to the program that a drill must find, by name.
var wrongs = map[string]struct{ file, from, to string }{
	"acknowledged and not committed": {
		"internal/infra/db/writer.go", "return afterCommit(w.exec(`COMMIT`))",
		"if n := w.conn.TotalChanges(); n > 500 && n%17 == 0 {\n\t\treturn w.exec(`ROLLBACK`)\n\t}\n\treturn afterCommit(w.exec(`COMMIT`))",
	},
	"a mail sent twice":  {"internal/domain/invite/post.go", "err = p.SMTP.Send(ctx, m)", "_ = p.SMTP.Send(ctx, m)\n\terr = p.SMTP.Send(ctx, m)"},
	"a count off by one": {"internal/domain/plugin/service.go", "count(tx, p, -1, -one(p.IsGlobal))", "count(tx, p, 0, -one(p.IsGlobal))"},
}

// right is the program as it is.
var right = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "foyer-drill-")
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir, "foyer/cmd/foyer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return filepath.Join(dir, "foyer")
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(filepath.Dir(right()))
	os.Exit(code)
}

// build makes the program with the change that wrong names.
func build(t *testing.T, wrong string) string {
	t.Helper()
	dir := t.TempDir()
	w := wrongs[wrong]
	path, err := filepath.Abs(filepath.Join("../..", w.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), w.from) != 1 {
		t.Fatalf("%s does not have %q once: %v", w.file, w.from, err)
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	err = errors.Join(err, os.WriteFile(changed, []byte(strings.Replace(string(text), w.from, w.to, 1)), 0o600), os.WriteFile(overlay, replace, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-o", dir, "foyer/cmd/foyer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "foyer")
}

// fleet is servers that share a database, a mail server and settings.
type fleet struct {
	program string
	key     string
	dir     string
	env     []string
	smtp    *mailtest.Server
	servers []*process
	log     bytes.Buffer
	logMu   sync.Mutex
}

// process is one server, which always listens on the same address.
type process struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	left    atomic.Bool // a proxy sends it nothing
}

func newFleet(t *testing.T, program, database string, servers int) *fleet {
	t.Helper()
	f := &fleet{program: program, key: access.NewKey(), dir: t.TempDir(), smtp: mailtest.Start(t, mailtest.Config{})}
	f.env = []string{
		"FOYER_DATA_DIR=" + f.dir, "FOYER_BASE_URL=https://foyer.example", "FOYER_SMTP=" + f.smtp.URL(), "FOYER_BOOTSTRAP_KEY=" + f.key,
		"FOYER_INVITE_LIMIT=off", "FOYER_RATE_LIMIT=off",
	}
	if database != "" {
		f.env = append(f.env, "FOYER_DATABASE="+database, "FOYER_SECRET=0123456789abcdef0123456789abcdef")
	}
	for range servers {
		ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f.servers = append(f.servers, &process{address: ln.Addr().String()})
		ln.Close()
	}
	for i := range f.servers {
		f.start(t, i)
	}
	t.Cleanup(func() {
		for _, p := range f.servers {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		if t.Failed() {
			t.Logf("the end of the log:\n%s", f.log.Bytes()[max(0, f.log.Len()-4000):])
		}
	})
	return f
}

// Write implements io.Writer for the logs of all servers.
func (f *fleet) Write(text []byte) (int, error) {
	f.logMu.Lock()
	defer f.logMu.Unlock()
	return f.log.Write(text)
}

func (f *fleet) url(i int) string { return "http://" + f.servers[i%len(f.servers)].address }

// balanced is the url of the next server that a proxy would take.
func (f *fleet) balanced(n int) string {
	for i := range f.servers {
		if !f.servers[(n+i)%len(f.servers)].left.Load() {
			return f.url(n + i)
		}
	}
	return f.url(n)
}

// start starts a server and returns once it is ready.
func (f *fleet) start(t *testing.T, i int) {
	t.Helper()
	p := f.servers[i]
	p.cmd, p.ended = exec.Command(f.program, "serve", "--listen="+p.address), make(chan struct{})
	p.cmd.Env, p.cmd.Stderr = f.env, f
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // says how it ended, which the log does too
		close(ended)
	}(p.cmd, p.ended)
	f.await(t, i)
	p.left.Store(false)
}

func (f *fleet) await(t *testing.T, i int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); !f.ready(i); <-tick {
		if time.Now().After(deadline) {
			t.Fatal("a server is not ready")
		}
	}
}

// kill ends a server as a crash would, and stop as a service manager would.
func (f *fleet) kill(i int) {
	_ = f.servers[i].cmd.Process.Kill()
	<-f.servers[i].ended
}

func (f *fleet) stop(t *testing.T, i int) {
	t.Helper()
	if err := f.servers[i].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	time.Sleep(500 * time.Millisecond) // a proxy asks four times a second whether it is ready
	if f.ready(i) {
		t.Error("a server that stops says that it is ready")
	}
	f.servers[i].left.Store(true)
	<-f.servers[i].ended
	if code := f.servers[i].cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("a server that was stopped exits with %d", code)
	}
}

func (f *fleet) command(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(f.program, args...)
	cmd.Env = f.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("foyer %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// restores reports whether a backup is restored.
func (f *fleet) restores(backup string) bool {
	cmd := exec.Command(f.program, "restore", backup, "--force")
	cmd.Env = f.env
	return cmd.Run() == nil
}

var panics = regexp.MustCompile(`panic|DATA RACE`)

// report fails the test with what is wrong.
func (f *fleet) report(t *testing.T, l *load, wrong []string) {
	t.Helper()
	f.logMu.Lock()
	if found := panics.Find(f.log.Bytes()); found != nil {
		wrong = append(wrong, fmt.Sprintf("the log has a %s", found))
	}
	f.logMu.Unlock()
	for _, w := range wrong[:min(len(wrong), 20)] {
		t.Error(w)
	}
	verdicts := map[verdict]int{}
	for _, r := range l.requests {
		verdicts[r.verdict]++
	}
	t.Logf("%d acknowledged, %d refused, %d unknown; %d wrong", verdicts[done], verdicts[refused], verdicts[unknown], len(wrong))
	if verdicts[done] < 50 {
		t.Errorf("only %d requests were acknowledged: the drill has tried nothing", verdicts[done])
	}
}
