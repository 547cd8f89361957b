package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// kinds are the browsers that the loader is tested in: each function starts one at a url, with a folder for its files.
var kinds = map[string]func(folder, url string) (*exec.Cmd, error){
	"chromium": chromium,
	"firefox":  firefox,
	"webkit":   webkit,
}

func chromium(folder, url string) (*exec.Cmd, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir="+folder, "--remote-debugging-port=0",
				"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-popup-blocking", url), nil
		}
	}
	return nil, errors.New("there is no Chromium")
}

func firefox(folder, url string) (*exec.Cmd, error) {
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		return nil, err
	}
	const settings = `
		user_pref("dom.disable_open_during_load", false);
		user_pref("network.captive-portal-service.enabled", false);
		user_pref("app.normandy.enabled", false);
		user_pref("datareporting.policy.dataSubmissionEnabled", false);`
	if err := os.WriteFile(filepath.Join(folder, "user.js"), []byte(settings), 0o600); err != nil {
		return nil, err
	}
	return exec.Command(path, "--headless", "--no-remote", "--profile", folder, url), nil
}

func webkit(folder, url string) (*exec.Cmd, error) {
	found, _ := filepath.Glob("/usr/lib/*/webkit2gtk-4.1/MiniBrowser")
	screen, err := exec.LookPath("xvfb-run")
	if err != nil || len(found) == 0 {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	cmd := exec.Command(screen, "-a", found[0], "--javascript-can-open-windows-automatically=true", url)
	cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_CACHE_HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	return cmd, nil
}

// browser is one tab of a real browser. It needs no driver: each page reports to the test and requests the next one.
type browser struct {
	kind    string
	server  *httptest.Server
	next    chan string // urls of the next pages
	reports chan report
	lost    bool // a page has not reported, so it is unknown what the tab shows
	mu      sync.Mutex
	pages   map[string]page
}

// page is a page of a site.
type page struct {
	path    string // "": /
	query   string // begins with &
	policy  string // its Content-Security-Policy
	before  string // script to run before the loader
	element string // "": that of the site
	script  string // the body of an async function that acts on the page and returns a value
	do      map[string]func()
}

// report is what a page reports.
type report struct {
	Value      any
	Log        []string // what apps have logged
	Errors     []string
	Violations []string // of the policy
	Foyer      known
}

// known is the content of window.foyer.
type known struct {
	Site     string
	Revision int
	Apps     []struct {
		ID      int
		Name    string
		Version int
		State   string
		Error   string
	}
	Others []known
}

func (k known) states() []string {
	var all []string
	for _, app := range k.Apps {
		all = append(all, app.Name+" "+app.State)
	}
	return all
}

// wait waits for done, at most until the test ends: a page that never gets there must not keep the server from
// stopping.
func wait(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-t.Context().Done():
	}
}

// start starts a browser, in which a test then opens one page after another.
func start(t *testing.T, kind string) *browser {
	t.Helper()
	b := &browser{kind: kind, next: make(chan string), reports: make(chan report, 1), pages: map[string]page{}}
	b.server = httptest.NewServer(b)
	folder, err := os.MkdirTemp("", "foyer-browser-") //nolint:usetesting // the browser may still write to it when the test ends
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := kinds[kind](folder, b.server.URL+"/next")
	if err != nil && kind != "chromium" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Environ(), "TMPDIR="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		b.server.CloseClientConnections()
		b.server.Close()
		_ = os.RemoveAll(folder) // a child that is still ending may write there
	})
	return b
}

// open opens a page of a site and returns its report.
func (b *browser) open(t *testing.T, f *foyer, p page) report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if p.element == "" {
		p.element = f.element()
	}
	if p.path == "" {
		p.path = "/"
	}
	id := b.add(p)
	select {
	case b.next <- b.server.URL + p.path + "?page=" + id + p.query:
	case <-ctx.Done():
		b.lost = true
		t.Fatalf("%s does not ask for a page", b.kind)
	}
	select {
	case r := <-b.reports:
		if text, ok := r.Value.(string); ok && strings.HasPrefix(text, "thrown: ") {
			t.Fatal(text)
		}
		return r
	case <-ctx.Done():
		b.lost = true
		t.Fatalf("%s has not reported", b.kind)
		return report{}
	}
}

// patience is how long a browser may take to start, or a page to report: on a busy machine, three browsers at once take
// more than half a minute.
const patience = 2 * time.Minute

// add registers a page, and returns its id.
func (b *browser) add(p page) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := strconv.Itoa(len(b.pages))
	b.pages[id] = p
	return id
}

func (b *browser) page(r *http.Request) page {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pages[r.URL.Query().Get("page")]
}

// slowScript is a script element that blocks the parser until "slow" is done.
func (b *browser) slowScript(t *testing.T) string {
	t.Helper()
	if b.kind == "webkit" {
		t.Skip("it runs no async script, such as the loader, while it waits for one that the page has written")
	}
	return `<script nonce="once">document.write("<script src='/do?page=" + id + "&what=slow'><\/script>")</script>`
}

// ServeHTTP serves the site's own pages.
func (b *browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*") // for sandboxed pages
	switch r.URL.Path {
	case "/next":
		select {
		case url := <-b.next:
			http.Redirect(w, r, url, http.StatusSeeOther)
		case <-r.Context().Done():
		}
	case "/report":
		body, _ := io.ReadAll(r.Body)
		var got report
		if err := json.Unmarshal(body, &got); err != nil { //nolint:musttag // its names are matched in any case
			got.Value = fmt.Sprintf("thrown: %v in %s", err, body)
		}
		b.reports <- got
	case "/do":
		if do := b.page(r).do[r.URL.Query().Get("what")]; do != nil {
			do()
		}
	case "/favicon.ico":
		http.NotFound(w, r)
	default:
		p := b.page(r)
		if p.policy != "" {
			w.Header().Set("Content-Security-Policy", p.policy)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, shell, p.before, p.element, p.script)
	}
}

// shell is the HTML of a page: what it observes, the loader, and its script. ahead moves the clock; haste is the speed
// of time, which is slow so that no app times out on a busy machine; waits lists the timeouts in milliseconds.
const shell = `<!doctype html>
<title>A page</title>
<link rel="icon" href="/favicon.ico">
<body>
<script nonce="once">
	const log = [], seen = [], violations = [], waits = [], id = new URLSearchParams(location.search).get("page"), now = Date.now, wait = setTimeout
	let ahead = 0, haste = 0.1
	Date.now = () => now() + ahead
	setTimeout = (f, ms) => (waits.push(ms), wait(f, ms / haste))
	addEventListener("error", (e) => {
		seen.push(e.message)
		if (e.filename === location.href) report("thrown: " + e.message).then(() => { location.href = "/next" })
	})
	addEventListener("unhandledrejection", (e) => seen.push(String(e.reason)))
	addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI))
	const ready = new Promise((done) => addEventListener("foyer:ready", done))
	const pause = () => new Promise((done) => wait(done, 5))
	const hurry = async (faster, times) => { // through so many waits
		haste = faster
		await until(() => waits.length === times)
		haste = 0.1
	}
	const until = async (what) => {
		for (const start = now(); !what(); await pause()) {
			if (now() - start > 60e3) throw new Error(what + " never came; " + log + JSON.stringify(window.foyer) + document.visibilityState)
		}
	}
	const bar = () => [...document.querySelectorAll("body > div")].map((div) => div.textContent).join()
	const raw = function (key) { return this[key] } // whatever toJSON the page has
	const server = (what) => fetch("/do?page=" + id + "&what=" + what)
	const report = (value) => {
		const { site, revision, apps, others } = window.foyer || {}
		return fetch("/report", { method: "POST", body: JSON.stringify({ value, log, errors: seen, violations, foyer: { site, revision, apps, others } }, raw) })
	}
	%s
</script>
%s
<script nonce="once">
	(async () => { %s })().catch((e) => "thrown: " + e + " " + e.stack).then(report).then(() => { location.href = "/next" })
</script>
`
