package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/cli/profile"
	"foyer/internal/config"
)

// call runs one command line on its own data folder.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return callIn(t, dataFolder(t), args...)
}

// callIn runs one command line in an environment.
func callIn(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	code = Run(t.Context(), args, environ, strings.NewReader(""), &out, &complaints)
	return code, out.String(), complaints.String()
}

// dataFolder returns an environment with a data folder of its own.
func dataFolder(t *testing.T) []string {
	t.Helper()
	return []string{"FOYER_DATA_DIR=" + filepath.Join(t.TempDir(), "data")}
}

// A variable may end with a line break, as one does that is read from a file.
func TestLineBreakAfterAVariable(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	_, _, complaints := callIn(t, []string{"FOYER_URL=" + server.URL + "\r\n", "FOYER_KEY=foy_x\n"}, "user", "get")
	if len(asked) == 0 || <-asked != "Bearer foy_x" {
		t.Error(complaints)
	}
}

// asking returns an environment with a server.
func asking(url string) []string { return []string{"FOYER_URL=" + url, "FOYER_KEY=foy_x"} }

func TestServeHasAFlagForEachSettingThatIsNoSecret(t *testing.T) {
	t.Parallel()
	code, help, _ := call(t, "serve", "--help")
	if code != OK {
		t.Errorf("exit code %d; want 0", code)
	}
	help = strings.Join(strings.Fields(help), " ")
	for _, s := range config.Settings {
		if got := strings.Contains(help, "--"+s.Flag()+"="); got == s.Secret {
			t.Errorf("--%s: %t; a flag is for what is no secret", s.Flag(), got)
		}
		if !strings.Contains(help, s.Variable()) || !strings.Contains(help, s.Default) {
			t.Errorf("%s: its name and default %q are not shown", s.Variable(), s.Default)
		}
	}
}

// Commands on the database warn once about an unknown setting; commands that read no settings do not.
func TestWhatIsNoSettingIsTold(t *testing.T) {
	t.Parallel()
	environ := append(dataFolder(t), "FOYER_SMPT=x")
	for _, test := range []struct {
		command string
		told    int
	}{
		{"admin organization create --name=Acme", 1},
		{"admin member add --email=ada@x.example --level=owner", 1},
		{"admin app credentials 1 --url=https://x.example/app", 1},
		{"admin backup copy.db --data-dir=none", 1},
		{"version", 0},
	} {
		_, _, complaints := callIn(t, environ, strings.Fields(test.command)...)
		if got := strings.Count(complaints, "foyer: warning: no setting has this name: FOYER_SMPT\n"); got != test.told {
			t.Errorf("%s: told %d times:\n%s", test.command, got, complaints)
		}
	}
}

// The error of an invalid url names where the url comes from.
func TestWrongURLIsBlamed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	kept := profile.In(map[string]string{"XDG_CONFIG_HOME": home})
	for _, name := range []string{profile.Default, "two"} {
		if err := kept.Put(name, profile.Profile{URL: "foyer.example", Key: "foy_x"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ command, url, key, blamed string }{
		{"app list", "", "", "profile default in " + string(kept)},
		{"app list --profile=two", "https://foyer.example", "foy_x", "profile two in " + string(kept)},
		{"app list", "foyer.example", "foy_x", "FOYER_URL"},
		{"app list --url=foyer.example", "https://foyer.example", "foy_x", "--url"},
		{"app list", "three.example:8000", "", "FOYER_URL"},
		{"app list --url=three.example", "", "", "--url"},
	} {
		environ := []string{"XDG_CONFIG_HOME=" + home, "FOYER_URL=" + test.url, "FOYER_KEY=" + test.key}
		code, _, complaints := callIn(t, environ, strings.Fields(test.command)...)
		if code != Misused || !strings.HasPrefix(complaints, "foyer: "+test.blamed+": the url of a server must be like") {
			t.Errorf("%s: %d, %s; want %s", test.command, code, complaints, test.blamed)
		}
	}
}

// --url is the server, although the API has a field of that name: a user who mixes them up sends FOYER_KEY to no other
// server.
func TestKeyIsSentToItsServerAlone(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	git := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer git.Close()
	for _, test := range []struct {
		command, url string
		want         int32
	}{
		{"app create --name=Banner --url=" + git.URL + "/team/banner.git", "https://foyer.example", 0},
		{"webhook set 1 --url=" + git.URL, "foyer.example", 0},
		{"app list --url=" + git.URL, git.URL + "/", 1},
		{"app list --url=" + git.URL, "", 1},
	} {
		asked.Store(0)
		code, _, complaints := callIn(t, asking(test.url), strings.Fields(test.command)...)
		if asked.Load() != test.want || (code == Misused) != (test.want == 0) {
			t.Errorf("%s, FOYER_URL=%s: asked %d times; %d, %s", test.command, test.url, asked.Load(), code, complaints)
		}
	}
}

func TestOtherHost(t *testing.T) {
	t.Parallel()
	const known = "https://foyer.example"
	for given, want := range map[string]bool{
		"https://foyer.example:443/": false, "HTTPS://FOYER.example:443": false, "http://foyer.example:80": false, "https://foyer.example:80": true,
		"https://foyer.example:8443": true, "https://shop.example:443": true, "foyer.example": false,
	} {
		if got := otherHost(given, known); got != want {
			t.Errorf("%s: %t", given, got)
		}
		if got := otherHost(given, known+":443"); got != want {
			t.Errorf("%s, the port is known: %t", given, got)
		}
	}
}

// An argument or a flag that is not a whole number is refused in those words, not in the parser's.
func TestNumbersAreWholeNumbers(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"app version Banner x":               `foyer: <version>: must be a whole number, not "x"`,
		"app upgrade Banner --to=1.5":        `foyer: --to: must be a whole number, not "1.5"`,
		"site place Shop Banner --position=": `foyer: --position: must be a whole number, not ""`,
	} {
		if code, _, complaints := callIn(t, asking("http://127.0.0.1:1"), strings.Fields(line)...); code != Misused || complaints != want+"\n" {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
}

func TestArgumentsMustBeUTF8(t *testing.T) {
	t.Parallel()
	if code, _, complaints := call(t, "organization", "create", "--name=\xff"); code != Misused || !strings.Contains(complaints, "UTF-8") {
		t.Errorf("exit code %d, %s; want 2", code, complaints)
	}
}

// Errors are JSON if the command line asks for it, even if it cannot be parsed.
func TestErrorsAreJSONWhereAskedFor(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"user delete x --json", "user delete x -o json", "key generate \xff --json", "admin app list --bad --json",
		"admin app list --json=true --bad", "admin app list -yojson --bad", "admin app list -yo json --bad", "admin app list -o=json", "--json help bad",
	} {
		if code, _, complaints := call(t, strings.Fields(line)...); code != Misused || !strings.HasPrefix(complaints, `{"type":"command_error",`) {
			t.Errorf("%q: %d, %s", line, code, complaints)
		}
	}
	for _, line := range []string{"user delete x", "admin app list --bad -- --json", "admin app list --name=--json --bad"} {
		if code, _, complaints := call(t, strings.Fields(line)...); code != Misused || !strings.HasPrefix(complaints, "foyer: ") {
			t.Errorf("%q: %d, %s", line, code, complaints)
		}
	}
}

func TestEveryFaultIsALine(t *testing.T) {
	t.Parallel()
	err := fault.List{{Field: "name", Detail: "Must be given."}, {Detail: "No."}}.Err()
	if got := strings.Join(lines(err), "|"); got != "name: Must be given.|No." {
		t.Errorf("lines %s", got)
	}
}

// A server that was reached may have done the request, so the error does not say that it cannot be asked.
func TestAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	create := func() string {
		_, _, complaints := callIn(t, asking(server.URL), "app", "create", "--name=x")
		return complaints
	}
	if got, want := create(), "foyer: "+server.URL+" gave no answer: EOF\n"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	server.Close()
	if got, want := create(), "foyer: "+server.URL+" cannot be asked: dial "; !strings.HasPrefix(got, want) {
		t.Errorf("%s; want %s", got, want)
	}
}

// A proxy that answers instead of the server does not know what exists.
func TestWhatAProxyDoesNotFind(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for _, line := range []string{"app delete 1 --yes", "app version 1 1", "member get 01a222f0-c757-7501-b81d-9eaa88a0bf52", "user decline 1 --yes"} {
		code, _, complaints := callIn(t, asking(server.URL), strings.Fields(line)...)
		if want := "foyer: the server does not answer as a foyer server: 404 Not Found\n"; code != Refused || complaints != want {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
}

// A client that is refused for now learns when to try again.
func TestWhenToTryAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "12")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"errors":[{"type":"throttled_error","code":"throttled","detail":"Too many requests.","attr":null}]}`)
	}))
	t.Cleanup(server.Close)
	code, _, complaints := callIn(t, asking(server.URL), "app", "list")
	if want := "foyer: Too many requests.\nfoyer: try again in 12s\n"; code != Refused || complaints != want {
		t.Errorf("%d, %s; want %s", code, complaints, want)
	}
}

// The error of an unreachable database has readable lines, each once.
func TestDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	environ := []string{"FOYER_DATABASE=postgres://foyer@127.0.0.1:1/foyer", "FOYER_SECRET=0123456789abcdef0123456789abcdef"}
	code, _, complaints := callIn(t, environ, "admin", "organization", "list")
	told := strings.Split(strings.TrimSpace(complaints), "\n")
	if code != Refused || len(told) != 2 || !strings.HasPrefix(told[1], "foyer: 127.0.0.1:1 ") {
		t.Errorf("%d: %q", code, told)
	}
}

// An error of the command line has the same type and code as in the API.
func TestFaultsAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`{"type":"invalid_request","code":"not_found","detail":"There is no app 9 in this organization.","attr":null,`: missing("app", "9"),
		`{"type":"validation_error","code":"required","detail":"Must be given.","attr":"name",`:                        fault.Field(fault.Required, "name", "Must be given."),
		`{"type":"command_error","code":"failed","detail":"no key was given","attr":null,`:                             errors.New("no key was given"),
	} {
		if got := string(errorObject(err)); !strings.HasPrefix(got, want+`"errors":[{"type":`) {
			t.Errorf("got %s; want %s", got, want)
		}
	}
}

// A url is never dropped: either the app is installed from it, or no app is made.
func TestAppWithAURLIsInstalled(t *testing.T) {
	t.Parallel()
	run := database(t)
	for flag, want := range map[string]int{"--type=custom": Refused, "--description=x": Refused, "--type=local": Misused, "--type=source": Misused} {
		code, _, complaints := run("app", "create", "--name=Banner", "--url=http://127.0.0.1:1/banner.git", flag)
		if code != want || !strings.Contains(complaints, "url") {
			t.Errorf("%s: %d, %s", flag, code, complaints)
		}
	}
	if _, out, _ := run("app", "list", "--json"); out != "[]\n" {
		t.Errorf("apps %s", out)
	}
}

func TestWithoutACommandThereIsHelp(t *testing.T) {
	t.Parallel()
	if code, out, _ := call(t); code != OK || !strings.HasPrefix(out, "Usage: foyer") {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// A login needs a foyer server: a website, a proxy or another API is refused.
func TestLoginWantsAFoyerServer(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]int{"<p>Welcome</p>": 200, "<p>Nothing</p>": 404, `{"login":"ada"}`: 200, `["ada"]`: 200, "": 204} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		code, _, complaints := call(t, "login", server.URL, "--key=foy_x")
		if want := "foyer: " + server.URL + ": the server does not answer as a foyer server"; code != Refused || !strings.HasPrefix(complaints, want) {
			t.Errorf("%d %s: exit code %d, %s", status, answer, code, complaints)
		}
	}
}

// A login names the commands that it affects.
func TestLoginSaysWhichCommandsItIsFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"uuid":"01890000-0000-7000-8000-000000000001","email":"ada@x.example"}`)
	}))
	t.Cleanup(server.Close)
	t.Chdir(t.TempDir()) // it has no database
	for _, test := range []struct{ flag, variable, which, others string }{
		{"--profile=default", "FOYER_KEY=", "Commands", ""},
		{"--profile=two", "FOYER_KEY=", "Commands with --profile=two", ""},
		{"--profile=default", "FOYER_URL=http://b.example", "Commands with --profile=default", " Without --profile, FOYER_URL counts."},
		{"--profile=two", "FOYER_KEY=foy_b", "Commands with --profile=two", " Without --profile, FOYER_KEY counts."},
		{"--profile=default", "FOYER_DATA_DIR=data", "Commands with --profile=default", " Without --profile, the database here counts."},
	} {
		home := t.TempDir()
		code, out, _ := callIn(t, []string{"XDG_CONFIG_HOME=" + home, test.variable}, "login", server.URL, "--key=foy_x", test.flag)
		want := test.which + " now work on " + server.URL + " as ada@x.example. The key is in " + home + "/foyer/profiles.json." + test.others + "\n"
		if code != OK || out != want {
			t.Errorf("%d, %s; want %s", code, out, want)
		}
	}
}

// A login at a url that redirects is refused, and the error names the target.
func TestLoginFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://foyer.example.com"+r.RequestURI, http.StatusMovedPermanently)
	}))
	t.Cleanup(server.Close)
	code, _, complaints := call(t, "login", server.URL, "--key=foy_x")
	if want := "foyer: " + server.URL + ": the server redirects to https://foyer.example.com: use that url\n"; code != Refused || complaints != want {
		t.Errorf("exit code %d, %s; want %s", code, complaints, want)
	}
}
