//go:build drill

package drill

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/mail/mailtest"
)

// fleet has servers that share a database, a mail server and settings.
type fleet struct {
	program string
	key     string
	dir     string
	env     []string
	url     string          // of the database; "": SQLite
	cluster *dbtest.Cluster // its server, if the fleet has its own
	relay   *dbtest.Relay   // to the cluster
	post    *dbtest.Relay   // to the mail server
	smtp    *mailtest.Server
	servers []*process
	log     bytes.Buffer
	logMu   sync.Mutex
}

// process is one server. It always listens on the same address.
type process struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	left    atomic.Bool // a proxy would not use it
}

// newFleet starts servers on a database: a url of PostgreSQL, or "" for SQLite.
func newFleet(t *testing.T, program, database string, servers int) *fleet {
	t.Helper()
	f := prepare(t, program, database, t.TempDir(), access.NewKey(), servers)
	for i := range f.servers {
		f.start(t, i)
	}
	return f
}

// prepare is newFleet without starting the servers.
func prepare(t *testing.T, program, database, dir, key string, servers int) *fleet {
	t.Helper()
	f := &fleet{program: program, key: key, dir: dir, url: database, smtp: mailtest.Start(t, mailtest.Config{})}
	f.post = dbtest.StartRelay(t, "tcp", f.smtp.Addr())
	f.env = []string{
		"FOYER_DATA_DIR=" + dir, "FOYER_BASE_URL=https://foyer.example", "FOYER_SMTP=smtp+plain://" + f.post.Address,
		"FOYER_BOOTSTRAP_KEY=" + key, "FOYER_INVITE_LIMIT=off", "FOYER_RATE_LIMIT=off",
	}
	if database != "" {
		f.env = append(f.env, "FOYER_DATABASE="+database, "FOYER_SECRET=0123456789abcdef0123456789abcdef")
	}
	for range servers {
		f.servers = append(f.servers, &process{address: dbtest.FreeAddress(t)})
	}
	t.Cleanup(func() {
		for i := range f.servers {
			f.kill(i)
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

func (f *fleet) at(i int) string { return "http://" + f.servers[i%len(f.servers)].address }

// balanced returns the url of the next server that a proxy would use.
func (f *fleet) balanced(n int) string {
	for i := range f.servers {
		if !f.servers[(n+i)%len(f.servers)].left.Load() {
			return f.at(n + i)
		}
	}
	return f.at(n)
}

// start starts a server and returns once it is ready.
func (f *fleet) start(t *testing.T, i int) {
	t.Helper()
	p := f.servers[i]
	cmd, ended := exec.Command(f.program, "serve", "--listen="+p.address), make(chan struct{})
	cmd.Env, cmd.Stderr = f.env, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.cmd, p.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // returns the exit status, which the log has, too
		close(ended)
	}()
	f.await(t, i, true)
	p.left.Store(false)
}

// ready reports whether the server behind a url is ready.
func ready(url string) bool {
	res, err := http.Get(url + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// await waits until a server is ready, or is not.
func (f *fleet) await(t *testing.T, i int, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("a server says that it is ready: %t", want), func() bool { return ready(f.at(i)) == want })
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for tick := time.Tick(20 * time.Millisecond); !is(); <-tick {
		if time.Now().After(deadline) {
			t.Fatalf("not within 3 minutes: %s", what)
		}
	}
}

// kill ends a server as a crash would, and stop as a service manager would.
func (f *fleet) kill(i int) {
	if p := f.servers[i]; p.cmd != nil {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

func (f *fleet) stop(t *testing.T, i int) {
	t.Helper()
	p := f.servers[i]
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	f.await(t, i, false) // as a proxy checks
	p.left.Store(true)
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("a server that was stopped exits with %d", code)
	}
}

// run runs a command of the program and returns what it prints.
func (f *fleet) run(args ...string) ([]byte, error) {
	cmd := exec.Command(f.program, args...)
	cmd.Env = f.env
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("foyer %s: %w\n%s", strings.Join(args, " "), err, failed.Stderr)
	}
	return out, err
}

var panics = regexp.MustCompile(`panic|DATA RACE`)

// report fails the test with the faults that were found.
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
	t.Logf("%d acknowledged, %d of them again, %d refused, %d unknown; %d wrong",
		l.ended[done].Load(), l.replayed.Load(), l.ended[refused].Load(), l.ended[unknown].Load(), len(wrong))
}
