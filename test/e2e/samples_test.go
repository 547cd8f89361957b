package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"foyer/client"
	"foyer/internal/infra/upstream/upstreamtest"
)

// sample is the reference's sample of an operation in one language.
type sample struct{ id, language, text string }

var partOfReference = regexp.MustCompile(`href="(/docs/reference/\w+)"`)

var sampleText = regexp.MustCompile(`(?s)<pre id="(\w+)-(curl|foyer|go|typescript)" tabindex="0"><code>(.*?)</code></pre>`)

// anyTime matches times, and apiTime those in the API's format.
var (
	anyTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`)
	apiTime = regexp.MustCompile(`^"[^".]*\.\d{6}Z"$`)
)

// samplesOf returns the samples of a server's reference in one language.
func samplesOf(t *testing.T, browser *http.Client, address, language string) []sample {
	t.Helper()
	read := func(path string) string {
		response, err := browser.Get(address + path)
		check(t, err)
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		check(t, err)
		return string(page)
	}
	var all []sample
	seen := map[string]bool{}
	for _, part := range partOfReference.FindAllStringSubmatch(read("/docs"), -1) {
		if seen[part[1]] {
			continue
		}
		seen[part[1]] = true
		for _, found := range sampleText.FindAllStringSubmatch(read(part[1]), -1) {
			if found[2] == language {
				all = append(all, sample{found[1], found[2], html.UnescapeString(found[3])})
			}
		}
	}
	if len(all) < 50 {
		t.Fatalf("there are %d samples for %s", len(all), language)
	}
	return all
}

// Each sample, as it is in the reference, calls its operation on a server that answers all operations with the examples
// of the document.
func TestSamples(t *testing.T) { //nolint:tparallel // it notes what one language after the other asks for
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	asked := &pretender{operations: map[string]operation{}, carried: map[string]bool{}}
	server := httptest.NewServer(asked)
	t.Cleanup(server.Close)
	s["BASE_URL"] = server.URL // the samples name it
	i := launch(t, s)
	asked.learn(t, i.url)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "banner", "site.ts"), "export function inject() {}\n")
	writeFile(t, filepath.Join(dir, "people.csv"), "target_email\nada@example.com\n")
	foyer := func(name string, args ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = dir
		command.Env = []string{"PATH=" + binary + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "FOYER_KEY=foy_example"}
		return command
	}
	run := func(t *testing.T, name string, args ...string) {
		t.Helper()
		if out, err := foyer(name, args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	t.Run("foyer", func(t *testing.T) {
		for _, sample := range samplesOf(t, http.DefaultClient, i.url, "foyer") {
			run(t, "sh", "-eu", "-c", sample.text+" --yes")                 // it asks if there is a terminal
			if got, _ := asked.forget(); !slices.Contains(got, sample.id) { // it sends more, or less, than the example
				t.Errorf("%s asks for %v", sample.text, got)
			}
		}
	})
	t.Run("foyer, in JSON", func(t *testing.T) {
		for _, sample := range samplesOf(t, http.DefaultClient, i.url, "foyer") {
			out, err := foyer("sh", "-eu", "-c", sample.text+" --yes --json").Output()
			if err != nil || !json.Valid(out) {
				t.Errorf("%s --json: %v\n%s", sample.text, err, out)
			}
			for _, at := range anyTime.FindAllString(string(out), -1) {
				if !apiTime.MatchString(at) {
					t.Errorf("%s --json has %s", sample.text, at)
				}
			}
		}
		asked.forget()
	})
	t.Run("foyer, safely", func(t *testing.T) {
		for _, sample := range samplesOf(t, http.DefaultClient, i.url, "foyer") {
			for parameter, flag := range map[string]string{"IfMatch": `--if-match="x"`, "IdempotencyKey": "--idempotency-key=x", "DryRun": "--dry-run"} {
				takes := slices.Contains(asked.operations[sample.id].Parameters, reference{"#/components/parameters/" + parameter})
				if sample.id == "updateSource" { // a push is the same whenever it is sent, and sends the ETag of what it replaces
					takes = parameter == "DryRun"
				}
				command := foyer("sh", "-eu", "-c", sample.text+` --yes "$0"`, flag)
				out, err := command.CombinedOutput()
				name, _, _ := strings.Cut(flag, "=")
				asked.forget()
				switch carried := asked.carried[sample.id+" "+parameter]; {
				case takes && (err != nil || !carried):
					t.Errorf("%s %s: %v, sent %t\n%s", sample.text, flag, err, carried, out)
				case !takes && (command.ProcessState.ExitCode() != 2 || !bytes.Contains(out, []byte(name))):
					t.Errorf("%s %s is not refused: %v\n%s", sample.text, flag, err, out)
				}
			}
		}
	})
	for language, program := range map[string]func(*testing.T, *instance, []sample) []string{"go": goProgram, "typescript": typeScriptProgram} {
		t.Run(language, func(t *testing.T) {
			all := samplesOf(t, http.DefaultClient, i.url, language)
			if len(all) != len(asked.operations) {
				t.Errorf("there are %d samples of %d operations", len(all), len(asked.operations))
			}
			args := program(t, i, all)
			run(t, args[0], args[1:]...)
			var want []string
			for _, sample := range all {
				want = append(want, sample.id)
			}
			if got, wrong := asked.forget(); wrong != nil || !slices.Equal(got, want) {
				t.Errorf("asks for %v, not %v; %v", got, want, wrong)
			}
		})
	}
}

// goProgram builds one program from all samples, after it has compiled each as its own program.
func goProgram(t *testing.T, _ *instance, all []sample) []string {
	t.Helper()
	var imports, bodies strings.Builder
	seen, files := map[string]bool{}, token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(files, "gc", exported(t))}
	for _, sample := range all {
		file, err := parser.ParseFile(files, sample.id+".go", sample.text, parser.SkipObjectResolution)
		if err == nil {
			_, err = config.Check("main", files, []*ast.File{file}, nil)
		}
		check(t, err)
		for _, i := range file.Imports {
			if !seen[i.Path.Value] {
				seen[i.Path.Value] = true
				fmt.Fprintf(&imports, "import %s\n", i.Path.Value)
			}
		}
		_, body, _ := strings.Cut(sample.text, "\nfunc main() ")
		fmt.Fprintf(&bodies, "func() %s()\n", body)
	}
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	check(t, err)
	module := t.TempDir()
	writeFile(t, filepath.Join(module, "main.go"), "package main\n\n"+imports.String()+"\nfunc main() {\n"+bodies.String()+"}\n")
	writeFile(t, filepath.Join(module, "go.mod"), "module samples\n\ngo 1.26\n\nrequire foyer v0.0.0\n\nreplace foyer => "+checkout+"\n")
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "samples", ".")
	build.Dir, build.Env = module, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return []string{filepath.Join(module, "samples")}
}

// exported finds the export data of packages, of the client and all its imports.
func exported(t *testing.T) importer.Lookup {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", "foyer/client", "log")
	out, err := list.Output()
	check(t, err)
	places := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, place, _ := strings.Cut(strings.TrimSpace(line), "=")
		places[name] = place
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(places[path]) }
}

// typeScriptProgram builds one module from all samples, type-checked strictly.
func typeScriptProgram(t *testing.T, i *instance, all []sample) []string {
	t.Helper()
	var source strings.Builder
	source.WriteString("export {};\n")
	for _, sample := range all {
		fmt.Fprintf(&source, "{\n%s\n}\n", sample.text)
	}
	return []string{"node", filepath.Join(buildTypeScript(t, i.url, map[string]string{"samples.ts": source.String()}), "samples.js")}
}

// pretender answers each operation with the example of the document.
type pretender struct {
	http.ServeMux
	operations map[string]operation

	mu      sync.Mutex
	asked   []string
	carried map[string]bool // the id of an operation and a parameter that came with it, ever
	wrong   error
}

// operation has the parts of an operation that the test needs.
type operation struct {
	ID         string            `json:"operationId"`
	Security   []json.RawMessage `json:"security"`
	Parameters []reference       `json:"parameters"`
	Body       reference         `json:"requestBody"`
	Responses  map[int]reference `json:"responses"`

	bodies []json.RawMessage // one of them is sent
}

type reference struct {
	Ref string `json:"$ref"`
}

// name returns the name of the referenced component.
func (r reference) name() string { return filepath.Base(r.Ref) }

// content is the content of a body or an answer.
type content struct {
	Content map[string]struct {
		Example  json.RawMessage `json:"example"`
		Examples map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"examples"`
	} `json:"content"`
}

// learn reads the document of a server.
func (p *pretender) learn(t *testing.T, address string) {
	t.Helper()
	response, err := http.Get(address + "/openapi.json")
	check(t, err)
	defer response.Body.Close()
	var document struct {
		Paths      map[string]map[string]json.RawMessage `json:"paths"`
		Components struct {
			RequestBodies map[string]content `json:"requestBodies"`
			Responses     map[string]content `json:"responses"`
		} `json:"components"`
	}
	check(t, json.NewDecoder(response.Body).Decode(&document))
	for path, methods := range document.Paths {
		for method, text := range methods {
			if method == "parameters" {
				continue
			}
			var o operation
			check(t, json.Unmarshal(text, &o))
			for _, example := range document.Components.RequestBodies[o.Body.name()].Content["application/json"].Examples {
				o.bodies = append(o.bodies, example.Value)
			}
			status := slices.Min(slices.Collect(maps.Keys(o.Responses)))
			answer := document.Components.Responses[o.Responses[status].name()].Content["application/json"].Example
			p.operations[o.ID] = o
			p.HandleFunc(strings.ToUpper(method)+" "+path, func(w http.ResponseWriter, r *http.Request) {
				p.note(o, r)
				w.WriteHeader(status)
				_, _ = w.Write(answer)
			})
		}
	}
}

// note records the operation of a request, and what is wrong with it.
func (p *pretender) note(o operation, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, o.ID)
	for parameter, came := range map[string]bool{
		"IfMatch": r.Header.Get("If-Match") == `"x"`, "IdempotencyKey": r.Header.Get("Idempotency-Key") == `"x"`, "DryRun": r.URL.Query().Get("dry_run") == "true",
	} {
		p.carried[o.ID+" "+parameter] = p.carried[o.ID+" "+parameter] || came
	}
	if key := r.Header.Get("Authorization"); len(o.Security) > 0 && key != "Bearer foy_example" {
		err = fmt.Errorf("the key is %q", key)
	}
	same := func(example json.RawMessage) bool {
		var want, got any
		example = bytes.ReplaceAll(example, []byte(`"admin"`), []byte("8")) // the client sends this
		sent := bytes.ReplaceAll(body, []byte(`"admin"`), []byte("8"))
		return json.Unmarshal(example, &want) == nil && json.Unmarshal(sent, &got) == nil && reflect.DeepEqual(got, want)
	}
	if len(o.bodies) > 0 && !slices.ContainsFunc(o.bodies, same) {
		err = fmt.Errorf("it sends %s", body)
	}
	if err != nil {
		p.wrong = fmt.Errorf("%s: %w", o.ID, err)
	}
}

// forget returns the requested operations, and the last fault.
func (p *pretender) forget() (asked []string, wrong error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, wrong = p.asked, p.wrong
	p.asked, p.wrong = nil, nil
	return asked, wrong
}

// A signed-in user sees curl samples with their own ids. Those that change nothing are answered.
func TestSamplesAreAnswered(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "banner")
	for _, tag := range []string{"v1.0.0", "v1.1.0", "v1.2.0"} {
		repo.Tag(t, tag, repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner"}`, "site.ts": "// " + tag}))
	}
	s := newSettings(t, "sqlite", "")
	delete(s, "BASE_URL")
	s["UPSTREAM_ALLOW"], s["WEBHOOK_ALLOW"] = "127.0.0.0/8", "127.0.0.0/8"
	i := launch(t, s)
	c, err := client.New(i.url, s["BOOTSTRAP_KEY"])
	check(t, err)
	own := seeded(t, c.Organization(client.Current), i.url, repo.URL)
	jar, err := cookiejar.New(nil)
	check(t, err)
	browser := &http.Client{Jar: jar}
	response, err := browser.PostForm(i.url+"/console/session", url.Values{"key": {s["BOOTSTRAP_KEY"]}})
	check(t, err)
	response.Body.Close()
	for _, sample := range samplesOf(t, browser, i.url, "curl") {
		if strings.Contains(sample.text, "-X ") {
			continue
		}
		if strings.Contains(sample.text, client.Current) {
			t.Errorf("the organization is not filled in: %s", sample.text)
		}
		shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", "curl() { command curl -sS --fail-with-body \"$@\"; }\n"+own.Replace(sample.text))
		shell.Env = append(os.Environ(), "FOYER_KEY="+s["BOOTSTRAP_KEY"])
		if out, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, sample.text, out)
		}
	}
}

// seeded makes what the samples use, and replaces the ids in the document by the real ones.
func seeded(t *testing.T, o *client.Organization, address, repository string) *strings.Replacer {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		check(t, err)
	}
	app, err := o.CreateApp(ctx, client.AppDraft{PluginType: client.PluginCustom, URL: repository, Tag: "v1.0.0"})
	must(err)
	_, err = o.UpgradeApp(ctx, app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: new("v1.1.0")}})
	must(err)
	source, err := o.GetSource(ctx, app.ID)
	must(err)
	site, err := o.CreateSite(ctx, client.SitePatch{Name: new("Shop")})
	must(err)
	_, err = o.PlaceApp(ctx, site.ID, client.PlacementDraft{AppID: app.ID})
	must(err)
	hook, err := o.CreateWebhook(ctx, client.WebhookPatch{URL: new("http://127.0.0.1:9/"), Events: []string{"app.*"}})
	must(err)
	invite, err := o.CreateInvite(ctx, client.InviteDraft{TargetEmail: "ada@example.com"})
	must(err)
	link, err := o.LinkInvite(ctx, invite.ID)
	must(err)
	try, err := o.PreviewApp(ctx, site.ID, app.ID, client.PreviewDraft{URL: address + "/sites/" + site.Token + "/try"})
	must(err)
	tried, err := url.Parse(try.URL)
	must(err)
	members, err := o.ListMembers(ctx, client.MemberFilter{}, client.Range{})
	must(err)
	number := func(id int64) string { return strconv.FormatInt(id, 10) }
	return strings.NewReplacer(
		"apps/42", "apps/"+number(app.ID), "sites/3", "sites/"+number(site.ID), "webhooks/4", "webhooks/"+number(hook.ID), "sessions/7", "sessions/1",
		"WyJ0cnkiXQ", url.QueryEscape(tried.Query().Get("t")), "/apps/KJ2UVQ7XN4MZ3AEWTB6RYCD5HP/", "/apps/"+strings.Split(source.Bundle.URL, "/")[4]+"/", "KJ2UVQ7XN4MZ3AEWTB6RYCD5HP", site.Token,
		"AZgfEAKqfB2LU51vTw9-IHs0cV8q4jv2n1p0r2Xk7b9aJm3QyZtLwEoUiSdFgHjK", filepath.Base(link.URL),
		"01981f12-77d1-7be0-a1c5-02f6c3e9d417", members.Results[0].User.UUID,
	)
}
