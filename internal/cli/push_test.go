package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/cli/admin"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
	"foyer/internal/face/wire"
	"foyer/internal/infra/sandbox/sandboxtest"
	"foyer/internal/server"
)

func TestMain(m *testing.M) { sandboxtest.Main(m, server.Tasks()) }

// runner runs a command line.
type runner func(args ...string) (code int, stdout, stderr string)

// each runs command lines whose words have no spaces. Each must succeed.
func (run runner) each(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		run.ok(t, strings.Fields(line)...)
	}
}

// ok runs a command line that must succeed.
func (run runner) ok(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, out, complaints := run(args...)
	if code != OK {
		t.Fatalf("%v: %d, %s", args, code, complaints)
	}
	return out, complaints
}

// database returns what runs command lines, given without foyer admin, on a database that has an owner.
func database(t *testing.T) runner {
	t.Helper()
	return databaseIn(t, dataFolder(t))
}

// databaseIn is database in an environment.
func databaseIn(t *testing.T, environ []string) runner {
	t.Helper()
	run := runner(func(args ...string) (int, string, string) {
		return callIn(t, environ, append([]string{"admin"}, args...)...)
	})
	run.each(t, "organization create --name=Acme", "member add --email=owner@acme.example --level=owner")
	return run
}

// databaseAndClient also returns a client of the API on the same database.
func databaseAndClient(t *testing.T) (runner, *client.Organization) {
	t.Helper()
	environ := dataFolder(t)
	run := databaseIn(t, environ)
	e := newEnvironment(environ, io.Discard)
	if _, err := e.inside(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(); err != nil {
			t.Error(err)
		}
	})
	return run, e.organization
}

// folder makes a folder with this name and these files.
func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// before is a transport that does something before each PATCH.
type before struct {
	http.RoundTripper

	do func()
}

func (b before) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		b.do()
	}
	return b.RoundTripper.RoundTrip(r)
}

// A push is sent again when others have changed the app meanwhile, but not for ever, and then says why.
func TestPushWhileOthersChangeTheApp(t *testing.T) {
	t.Parallel()
	environ := dataFolder(t)
	run := databaseIn(t, environ)
	run.each(t, "app create --type=source --name=Busy")
	e := newEnvironment(environ, io.Discard)
	if _, err := e.inside(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.close() }()
	by, err := admin.NewTarget("", "").Caller(t.Context(), e.domain)
	if err != nil {
		t.Fatal(err)
	}
	inside := wire.Inside{
		Handler: e.domain.API("http://foyer.invalid", slog.New(slog.DiscardHandler)).Handler(func(*wire.Mux) {}),
		Context: func(ctx context.Context) context.Context { return access.WithOperator(ctx, access.Operator(by)) },
	}
	for changes, want := range map[int]string{maxTries - 1: "", maxTries: "others are changing app Busy at this moment, and nothing was stored: push again"} {
		change := func() {
			if changes--; changes >= 0 {
				description := fmt.Sprint(want, changes)
				if _, err := e.organization.UpdateApp(t.Context(), 1, client.AppPatch{Description: &description}); err != nil {
					t.Error(err)
				}
			}
		}
		c, err := client.New("http://foyer.invalid", "", client.WithHTTPClient(&http.Client{Transport: before{inside, change}}))
		if err != nil {
			t.Fatal(err)
		}
		read := contents{files: client.Files{"a.md": want}}
		_, err = appPush{App: "Busy"}.send(t.Context(), c.Organization(by.Organization.ID), read, io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A push that renames its app says so: it may have been given the folder of another app.
func TestPushThatRenames(t *testing.T) {
	t.Parallel()
	run := database(t)
	run.each(t, "app create --type=source --name=Ticker")
	dir := folder(t, "banner", map[string]string{"plugin.json": `{"name": "Banner"}`})
	const note = "foyer: note: app 1 was named Ticker, and is now named Banner\n"
	if _, complaints := run.ok(t, "app", "push", dir, "--app=Ticker"); !strings.Contains(complaints, note) {
		t.Error(complaints)
	}
	if _, complaints := run.ok(t, "app", "push", dir, "--app=Banner"); strings.Contains(complaints, "named") {
		t.Error(complaints)
	}
}

// A push makes no app with another name than --name.
func TestPushMakesNoAppOfAnotherName(t *testing.T) {
	t.Parallel()
	run := database(t)
	dir := folder(t, "banner", map[string]string{"a.md": "1"})
	const refusal = "foyer: there is no app Old, and --name would call a new one New: name that with --app, or the id of an app\n"
	if code, _, complaints := run("app", "push", dir, "--app=Old", "--name=New"); code != Refused || complaints != refusal {
		t.Errorf("%d, %s", code, complaints)
	}
	if out, _ := run.ok(t, "app", "list", "--json"); out != "[]\n" {
		t.Error(out)
	}
	run.ok(t, "app", "push", dir, "--app=New", "--name=New")
}

// A push reads the name in plugin.json as the server does: pushing the same folder again changes the same app.
func TestPushReadsTheNameAsTheServerDoes(t *testing.T) {
	t.Parallel()
	run := database(t)
	for name, manifest := range map[string]string{"marked": "\ufeff" + `{"name":"Marked"}`, "cased": `{"name":"Cased","NAME":"Other"}`} {
		dir := folder(t, name, map[string]string{"plugin.json": manifest})
		if code, _, complaints := run("app", "push", dir); code != OK || !strings.Contains(complaints, "made app ") {
			t.Errorf("%s: %d, %s", name, code, complaints)
		}
		if code, _, complaints := run("app", "push", dir); code != OK || strings.Contains(complaints, "made app ") {
			t.Errorf("%s again: %d, %s", name, code, complaints)
		}
		if code, _, complaints := run("app", "push", dir, "--name="+name); code != Refused || !strings.Contains(complaints, "plugin.json calls the app ") {
			t.Errorf("%s by another name: %d, %s", name, code, complaints)
		}
	}
}

// A dry run of a push tells how many files a new app would get, but not what pages would run.
func TestPushOfANewAppIsTried(t *testing.T) {
	t.Parallel()
	run := database(t)
	dir := folder(t, "new", map[string]string{"a.md": "1", "b.md": "2"})
	code, out, complaints := run("app", "push", dir, "--dry-run", "-o", "csv")
	if code != OK || !strings.HasPrefix(out, "id,name,type,files,bundle\n0,new,source,2,") || strings.Contains(complaints, "pages run nothing of it") {
		t.Errorf("%d, %s, %s", code, out, complaints)
	}
}

// A dry run of the first push to an app says of its bundle what the push would.
func TestFirstPushIsTried(t *testing.T) {
	t.Parallel()
	run := database(t)
	dir := folder(t, "app", map[string]string{"site.ts": "export function inject() {}"})
	run.each(t, "app create --name=Bare")
	if _, complaints := run.ok(t, "app", "push", dir, "--app=Bare", "--dry-run"); strings.Contains(complaints, "pages run nothing of it") {
		t.Error(complaints)
	}
}

// If an app does not compile, pages go on with the last version that did, if there is one.
func TestPushOfWhatDoesNotCompile(t *testing.T) {
	t.Parallel()
	run := database(t)
	for _, push := range []struct {
		site, says string
		code       int
	}{
		{"broken (", "it is stored, and pages run nothing of the app\n", Refused},
		{"export function inject() {}", "", OK},
		{"broken (", "it is stored, and pages go on with the last version that did\n", Refused},
	} {
		code, _, complaints := run("app", "push", folder(t, "app", map[string]string{"site.ts": push.site}))
		if code != push.code || !strings.HasSuffix(complaints, push.says) {
			t.Errorf("%s: %d, %s", push.site, code, complaints)
		}
	}
}

// A push does not delete a file of the app that it cannot send: pages would run without it.
func TestPushDeletesNoFileThatItCannotSend(t *testing.T) {
	t.Parallel()
	run := database(t)
	dir := folder(t, "app", map[string]string{"a.md": "1", "b.md": "1"})
	file := filepath.Join(dir, "b.md")
	run.each(t, "app push "+dir)
	spoilt := map[string]func() error{
		"neither UTF-8 text": func() error { return os.WriteFile(file, []byte("\xe9"), 0o600) },
		"larger than 1 MiB":  func() error { return os.WriteFile(file, make([]byte, 1<<20+1), 0o600) },
		"not a file":         func() error { return cmp.Or(os.Remove(file), os.Symlink("a.md", file)) },
	}
	for why, spoil := range spoilt {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		code, _, complaints := run("app", "push", dir)
		if code != Refused || !strings.Contains(complaints, "foyer: b.md cannot be sent: "+why) {
			t.Errorf("%d, %s; want %q", code, complaints, why)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, out, _ := run("app", "versions", "app", "-o", "csv"); strings.Count(out, "\n") != 2 {
		t.Errorf("more versions than the first: %s", out)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	run.each(t, "app push "+dir)
}

// Neither does it delete files below a folder that has become a link.
func TestPushDeletesNoFileBelowALink(t *testing.T) {
	t.Parallel()
	run := database(t)
	dir := folder(t, "app", map[string]string{"a.md": "1"})
	src := filepath.Join(dir, "src")
	if err := cmp.Or(os.Mkdir(src, 0o700), os.WriteFile(filepath.Join(src, "b.md"), []byte("1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	run.each(t, "app push "+dir)
	if err := cmp.Or(os.Rename(src, filepath.Join(t.TempDir(), "src")), os.Symlink(t.TempDir(), src)); err != nil {
		t.Fatal(err)
	}
	code, _, complaints := run("app", "push", dir)
	if code != Refused || !strings.Contains(complaints, "foyer: src cannot be sent: not a file; and the app has src/b.md: ") {
		t.Errorf("%d, %s", code, complaints)
	}
	if code, out, complaints := run("app", "source", "app", "src/b.md"); code != OK || out != "1" {
		t.Errorf("%d, %s, %s", code, out, complaints)
	}
	if err := os.Remove(src); err != nil {
		t.Fatal(err)
	}
	run.each(t, "app push "+dir)
}

// A push does not delete files that a pull leaves out because of their names.
func TestPushLeavesHiddenFilesToTheApp(t *testing.T) {
	t.Parallel()
	run, o := databaseAndClient(t)
	had := client.Files{"a.md": "1", "b.md": "1", ".eslintrc.json": "{}", "lib/node_modules/x.ts": "", ".git/config": "1", "git~1/config": "1"}
	app, err := o.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "app", Source: had})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "app")
	run.each(t, "app pull --app=app "+dir)
	if err := os.Remove(filepath.Join(dir, "b.md")); err != nil {
		t.Fatal(err)
	}
	run.each(t, "app push "+dir)
	delete(had, "b.md")
	if source, err := o.GetSource(t.Context(), app.ID); err != nil || !maps.Equal(source.Source, had) {
		t.Errorf("%v, %v; want %v", source.Source, err, had)
	}
}

// A pull trusts no name in the answer of a server, whatever its other fields say.
func TestPullOfNamesThatNoAppCanHave(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id":5,"source_files":[],"source":{"a.md":"1",".git/config":"","git~1/config":"","ESLINT~1.JSO":"","node_modules/x.js":"","../b.md":"","x\\.git\\config":"","/b.md":"","":"","c\u001b.md":""}}`)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "app")
	code, _, complaints := callIn(t, asking(server.URL), "app", "pull", dir, "--app=5")
	if code != OK || strings.Count(complaints, "left out") != 9 {
		t.Errorf("%d, %s", code, complaints)
	}
	for where, want := range map[string]string{dir: "a.md", filepath.Dir(dir): "app"} {
		if files, err := os.ReadDir(where); err != nil || len(files) != 1 || files[0].Name() != want {
			t.Errorf("%s: %v, %v", where, files, err)
		}
	}
}

// A push stops reading a folder that is too large for an app, and sends no request.
func TestPushOfTooMuch(t *testing.T) {
	t.Parallel()
	small, large := map[string]string{}, map[string]string{}
	for i := range source.MaxFiles + 1 {
		small[fmt.Sprintf("%d.txt", i)] = "x"
	}
	for i := range source.MaxBytes/source.MaxFileBytes + 1 {
		large[fmt.Sprintf("%d.txt", i)] = strings.Repeat("x", source.MaxFileBytes)
	}
	for name, files := range map[string]map[string]string{"many": small, "large": large} {
		dir := folder(t, name, files)
		code, _, complaints := callIn(t, asking("http://127.0.0.1:1"), "app", "push", dir)
		if want := "foyer: " + dir + " has more than an app can have: 400 files, 10 MiB together\n"; code != Refused || complaints != want {
			t.Errorf("%s: %d, %s", name, code, complaints)
		}
	}
}

// A diff that is redirected to a file can be applied: it is unchanged, including line ends from Windows.
func TestDiffKeepsTheEndsOfLines(t *testing.T) {
	t.Parallel()
	run := database(t)
	for _, text := range []string{"1\r\n", "2\r\n"} {
		run.each(t, "app push "+folder(t, "app", map[string]string{"a.md": text}))
	}
	if code, out, complaints := run("app", "diff", "app"); code != OK || !strings.HasSuffix(out, "\n-1\r\n+2\r\n") {
		t.Errorf("%d, %q, %s", code, out, complaints)
	}
}

// Errors contain text that others have typed, too: the reason of a withdrawn version, the name of a file.
func TestErrorsCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	run := database(t)
	for _, text := range []string{"1", "2"} {
		run.each(t, "app push "+folder(t, "app", map[string]string{"a.md": text}))
	}
	run.ok(t, "app", "withdraw", "app", "1", "--yes", "--reason=bad\x1b[31m\nfoyer: all is well\u202e")
	code, _, complaints := run("app", "upgrade", "app", "--to=1")
	if code != Refused || complaints != "foyer: version: Version 1 is withdrawn: bad\uFFFD[31m\uFFFDfoyer: all is well\uFFFD\n" {
		t.Errorf("%d, %q", code, complaints)
	}
	var told bytes.Buffer
	tellCompiled(&told, "app", client.AppSource{SourceFiles: []client.SourceFile{{Filename: "l\u202eib.ts", Error: "no", Line: 1, Column: 14}}})
	if want := "app/l\uFFFDib.ts:1:14: error: no\n"; told.String() != want {
		t.Errorf("%q; want %q", told.String(), want)
	}
}
