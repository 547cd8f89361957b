package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"foyer/internal/config"
	"foyer/internal/infra/db"
)

var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"serve":      serve,
	"terminate":  terminate,
	"crash":      crash,
	"sql":        sql,
	"exits":      exits,
	"api":        api,
	"until":      until,
	"shows":      shows,
	"unfinished": unfinished,
	"field":      field,
	"normal":     normal,
	"paste":      paste,
	"journey":    journey,
}

type runningKey struct{}

// running has the servers that a script has started, by name. Their output is in the files NAME.out and NAME.log.
type running map[string]*process

func find(ts *testscript.TestScript, name string) *process {
	p := ts.Value(runningKey{}).(running)[name]
	if p == nil {
		ts.Fatalf("no server is named %s", name)
	}
	return p
}

// serve NAME... [flag...] starts servers at once, waits until they are ready and
// sets URL_NAME to the address of each, URL to that of the last.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	names := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if names < 0 {
		names = len(args)
	}
	for _, name := range args[:names] {
		start(ts, name, args[names:])
	}
	for _, name := range args[:names] {
		base, err := find(ts, name).awaitURL()
		ts.Check(err)
		ts.Setenv("URL", base)
		ts.Setenv("URL_"+name, base)
		awaitStatus(ts, http.StatusOK, func() (*http.Request, error) {
			return http.NewRequest(http.MethodGet, base+"/readyz", nil)
		})
	}
}

func start(ts *testscript.TestScript, name string, flags []string) {
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	log, err := os.Create(ts.MkAbs(name + ".log"))
	ts.Check(err)
	p, err := startProcess(environment(ts), ts.MkAbs("."), out, log, flags...)
	ts.Check(err)
	ts.Defer(func() {
		p.kill()
		out.Close()
		log.Close()
	})
	ts.Value(runningKey{}).(running)[name] = p
}

// environment returns the variables of a script that foyer reads.
func environment(ts *testscript.TestScript) []string {
	env := []string{"PATH=" + ts.Getenv("PATH")}
	for _, s := range config.Settings {
		for _, name := range []string{s.Variable(), s.Variable() + "_FILE"} {
			env = append(env, name+"="+ts.Getenv(name))
		}
	}
	return env
}

// pause is the time between two checks on another process.
func pause() { time.Sleep(10 * time.Millisecond) }

// terminate NAME ends a server as a service manager would. It must exit with 0.
func terminate(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(find(ts, args[0]).stop())
}

// crash NAME ends a server as a power failure would.
func crash(ts *testscript.TestScript, _ bool, args []string) { find(ts, args[0]).kill() }

// sql STATEMENT changes the database behind foyer's back.
func sql(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(execute(ts.Getenv("FOYER_DATABASE"), ts.Getenv("FOYER_DATA_DIR"), args[0]))
}

// execute changes a database behind foyer's back: the one at an address or, without one, the one in a folder.
func execute(address, dir, statement string) error {
	d, err := db.Open(context.Background(), cmp.Or(address, "sqlite:"+filepath.Join(dir, "foyer.db")))
	if err != nil {
		return err
	}
	err = d.InTx(context.Background(), func(ctx context.Context, tx *db.Tx) error { return db.Exec(ctx, tx, statement) })
	return errors.Join(err, d.Close())
}

// exits CODE PROGRAM [arg...] runs a program that must exit with CODE.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d", code)
	}
}

// api METHOD PATH STATUS [BODY] calls the server at $URL with the key $KEY; the
// answer is stdout.
func api(ts *testscript.TestScript, _ bool, args []string) {
	r, err := request(ts, args[0], args[1], args[3:]...)
	ts.Check(err)
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	_, err = io.Copy(ts.Stdout(), response.Body)
	ts.Check(err)
	if strconv.Itoa(response.StatusCode) != args[2] {
		ts.Fatalf("status %d", response.StatusCode)
	}
}

func request(ts *testscript.TestScript, method, path string, body ...string) (*http.Request, error) {
	r, err := http.NewRequest(method, ts.Getenv("URL")+path, strings.NewReader(strings.Join(body, "")))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+ts.Getenv("KEY"))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// until METHOD PATH STATUS repeats a call until it gets STATUS.
func until(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[2])
	ts.Check(err)
	awaitStatus(ts, status, func() (*http.Request, error) { return request(ts, args[0], args[1]) })
}

// shows PATH TEXT repeats a read until the answer has TEXT.
func shows(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(patience); ; pause() {
		r, err := request(ts, http.MethodGet, args[0])
		ts.Check(err)
		response, err := http.DefaultClient.Do(r)
		ts.Check(err)
		body, err := io.ReadAll(response.Body)
		ts.Check(err)
		response.Body.Close()
		if strings.Contains(string(body), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: still no %q: %s", args[0], args[1], body)
		}
	}
}

func awaitStatus(ts *testscript.TestScript, status int, make func() (*http.Request, error)) {
	for deadline := time.Now().Add(patience); ; pause() {
		r, err := make()
		ts.Check(err)
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == status {
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s %s: still not %d", r.Method, r.URL, status)
		}
	}
}

// unfinished NAME PATH BODY posts half of the body, tells the server to stop,
// waits until it no longer listens, and posts the other half: the answer must be
// 201, and the server must exit with 0.
func unfinished(ts *testscript.TestScript, _ bool, args []string) {
	p, body := find(ts, args[0]), args[2]
	u, err := url.Parse(ts.Getenv("URL"))
	ts.Check(err)
	conn, err := net.Dial("tcp", u.Host)
	ts.Check(err)
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		args[1], u.Host, ts.Getenv("KEY"), len(body))
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	ts.Check(err)
	if !strings.Contains(line, "100 Continue") {
		ts.Fatalf("%s", line)
	}
	_, err = in.ReadString('\n')
	ts.Check(err)
	half := len(body) / 2
	_, err = io.WriteString(conn, body[:half])
	ts.Check(err)
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	awaitClosed(ts, u.Host)
	_, err = io.WriteString(conn, body[half:])
	ts.Check(err)
	response, err := http.ReadResponse(in, nil)
	ts.Check(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		ts.Fatalf("status %d", response.StatusCode)
	}
	ts.Check(p.awaitEnd())
}

func awaitClosed(ts *testscript.TestScript, address string) {
	for deadline := time.Now().Add(patience); ; pause() {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			ts.Fatalf("%s still listens", address)
		}
	}
}

// field VARIABLE NAME sets a variable to a member of the JSON object, or of the
// first object of the list, that the last command wrote to stdout.
func field(ts *testscript.TestScript, _ bool, args []string) {
	text := bytes.TrimPrefix([]byte(ts.ReadFile("stdout")), []byte("["))
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	ts.Check(d.Decode(&object))
	value, ok := object[args[1]]
	if !ok {
		ts.Fatalf("no %s in %s", args[1], text)
	}
	ts.Setenv(args[0], fmt.Sprint(value))
}

// changing lists what differs in each run, with a replacement of the same length.
var changing = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "01234567-89ab-7cde-8f01-23456789abcd"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z`), "2026-01-02T03:04:05.000006Z"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-01-02T03:04:05Z"},
	{regexp.MustCompile(`foy_[0-9A-Za-z]{43}`), "foy_" + strings.Repeat("0", 43)},
	{regexp.MustCompile(`foy_[0-9A-Za-z]{8}\b`), "foy_" + strings.Repeat("0", 8)},
}

// normal writes the stdout of the last command again, with fixed ids, times and keys.
func normal(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stdout")
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.stands)
	}
	_, err := io.WriteString(ts.Stdout(), text)
	ts.Check(err)
}

// paste FILE runs the line of a file that begins with curl, unchanged.
func paste(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			ts.Check(ts.Exec("sh", "-c", strings.Replace(line, "curl ", "curl --silent --show-error --fail ", 1)))
			return
		}
	}
	ts.Fatalf("no line of %s begins with curl", args[0])
}
