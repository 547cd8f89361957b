package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"foyer/client"
	"foyer/internal/infra/upstream/upstreamtest"
)

// ways are the ways in which the cookbook does each job, in its order.
var ways = []string{"curl", "foyer", "go", "typescript"}

// Each job of the cookbook works as written in each way, on each engine.
func TestCookbook(t *testing.T) {
	t.Parallel()
	shared, recipes := readCookbook(t)
	host := upstreamtest.NewHost(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	cooks := map[string][]*cook{} // by way, in the order of the engines
	for _, engine := range engines {
		s := newSettings(t, engine, "")
		s["UPSTREAM_ALLOW"], s["WEBHOOK_ALLOW"] = "127.0.0.0/8", "127.0.0.0/8"
		url := launch(t, s).url
		for _, way := range ways {
			c := newCook(t, s, url, way, shared[way])
			c.engine = engine
			c.banner, c.chat = host.Repo(t, engine+"-"+way+"-banner"), host.Repo(t, engine+"-"+way+"-chat")
			c.hook = receiver.URL + "/" + way
			for _, r := range recipes {
				c.prepare(t, r)
			}
			cooks[way] = append(cooks[way], c)
		}
	}
	buildGo(t, shared["go"], cooks["go"])
	buildCooks(t, shared["typescript"], cooks["typescript"])
	for i, engine := range engines {
		for _, r := range recipes {
			t.Run(engine+"/"+r.heading, func(t *testing.T) {
				t.Parallel()
				for _, way := range ways {
					t.Run(way, func(t *testing.T) { cooks[way][i].cook(t, r.heading) })
				}
			})
		}
	}
}

// recipe is a job of the cookbook.
type recipe struct {
	heading string
	blocks  map[string]string // by way
}

// readCookbook returns the beginning of all blocks of a way, and the jobs.
func readCookbook(t *testing.T) (shared map[string]string, recipes []recipe) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cookbook.md"))
	check(t, err)
	sections := strings.Split(string(text), "\n## ")
	shared = blocksIn(sections[1])
	for _, section := range sections[2:] {
		heading, body, _ := strings.Cut(section, "\n")
		r := recipe{heading, blocksIn(body)}
		if len(r.blocks) != len(ways) {
			t.Errorf("%s is done in %d ways, want %d", heading, len(r.blocks), len(ways))
		}
		recipes = append(recipes, r)
	}
	if len(recipes) != 12 || len(jobs) != 12 {
		t.Errorf("there are %d jobs in the cookbook and %d here, want 12", len(recipes), len(jobs))
	}
	return shared, recipes
}

// blocksIn returns the blocks of a section. The first shell block is curl's.
func blocksIn(section string) map[string]string {
	blocks := map[string]string{}
	for part := range strings.SplitSeq(section, "\n```") {
		language, block, _ := strings.Cut(part, "\n")
		way, known := map[string]string{"sh": "curl", "go": "go", "ts": "typescript"}[language]
		if _, second := blocks[way]; second {
			way = "foyer"
		}
		if known {
			blocks[way] = block + "\n"
		}
	}
	return blocks
}

// cook does jobs in one way, in its own organization.
type cook struct {
	engine, way, url, dir string

	env          []string
	client       *client.Client
	org          *client.Organization
	banner, chat *upstreamtest.Repo
	hook         string
	admin        func(t *testing.T, answer any, args ...string)
	shared       string
	blocks       map[string]string // by heading
	ids          map[string]int64  // of what the job works on
	program      []string
	leaver       string // the key of somebody who leaves
}

func newCook(t *testing.T, s settings, url, way, shared string) *cook {
	t.Helper()
	c := &cook{way: way, url: url, dir: t.TempDir(), shared: shared, blocks: map[string]string{}, ids: map[string]int64{}}
	c.admin = func(t *testing.T, answer any, args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), filepath.Join(binary, "foyer"), append([]string{"--json", "admin"}, args...)...)
		command.Env = s.env()
		out, err := command.Output()
		if err == nil {
			err = json.Unmarshal(out, answer)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	var made struct{ ID, Key string }
	c.admin(t, &made, "organization", "create", "--name="+way)
	c.admin(t, &struct{}{}, "member", "add", "--organization="+made.ID, "--email="+way+"@example.com", "--level=owner")
	key := c.keyOf(t, made.ID, way+"@example.com")
	c.env = []string{"PATH=" + binary + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + c.dir, "FOYER_URL=" + url, "FOYER_KEY=" + key}
	var err error
	if c.client, err = client.New(url, key); err != nil {
		t.Fatal(err)
	}
	c.org = c.client.Organization(made.ID)
	return c
}

// keyOf makes a member's key with all scopes in an organization.
func (c *cook) keyOf(t *testing.T, organization, email string) string {
	t.Helper()
	var made struct{ Key string }
	c.admin(t, &made, "key", "create", "--email="+email, "--organization="+organization, "--scope=*")
	return made.Key
}

// prepare makes what a job works on, and puts its id into the job's block.
func (c *cook) prepare(t *testing.T, r recipe) {
	t.Helper()
	if prepare := jobs[r.heading].prepare; prepare != nil {
		c.ids[r.heading] = prepare(t, c)
	}
	id := strconv.FormatInt(c.ids[r.heading], 10)
	names := strings.NewReplacer("42", id, "https://git.example.com/team/banner.git", c.banner.URL, "https://hooks.example.com/foyer", c.hook)
	c.blocks[r.heading] = names.Replace(r.blocks[c.way])
}

// task is the name of a job within a program.
func (c *cook) task(heading string) string { return c.engine + " " + heading }

// buildGo builds one program from all blocks of some cooks, in a module that uses this checkout.
func buildGo(t *testing.T, shared string, cooks []*cook) {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	check(t, err)
	var body strings.Builder
	for _, c := range cooks {
		for heading, block := range c.blocks {
			fmt.Fprintf(&body, "jobs[%q] = func() error {\n%s\n_, _ = ctx, org\n%s\nreturn nil\n}\n", c.task(heading), shared, block)
		}
	}
	var source strings.Builder
	source.WriteString("package main\n\nimport \"foyer/client\"\nimport \"log\"\n")
	for _, name := range []string{"context", "encoding/csv", "encoding/json", "errors", "fmt", "net/http", "os", "path/filepath", "slices", "time"} {
		if strings.Contains(body.String(), filepath.Base(name)+".") || name == "os" {
			fmt.Fprintf(&source, "import %q\n", name)
		}
	}
	fmt.Fprintf(&source, "\nfunc main() {\njobs := map[string]func() error{}\n%sif err := jobs[os.Args[1]](); err != nil {\nlog.Fatal(err)\n}\n}\n", body.String())
	module := t.TempDir()
	writeFile(t, filepath.Join(module, "main.go"), source.String())
	writeFile(t, filepath.Join(module, "go.mod"), "module cookbook\n\ngo 1.26\n\nrequire foyer v0.0.0\n\nreplace foyer => "+checkout+"\n")
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "cookbook", ".")
	build.Dir, build.Env = module, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range cooks {
		c.program = []string{filepath.Join(module, "cookbook")}
	}
}

// buildCooks builds one program from all TypeScript blocks of some cooks, type-checked strictly.
func buildCooks(t *testing.T, shared string, cooks []*cook) {
	t.Helper()
	var source strings.Builder
	source.WriteString(shared + "\nconst jobs: Record<string, () => Promise<void>> = {};\n")
	for _, c := range cooks {
		for heading, block := range c.blocks {
			fmt.Fprintf(&source, "jobs[%q] = async () => {\n%s};\n", c.task(heading), block)
		}
	}
	source.WriteString("await jobs[process.argv[2]!]!();\n")
	folder := buildTypeScript(t, cooks[0].url, map[string]string{"cookbook.ts": source.String()})
	for _, c := range cooks {
		c.program = []string{"node", filepath.Join(folder, "cookbook.js")}
	}
}

// command returns the command that does a job.
func (c *cook) command(ctx context.Context, heading string) *exec.Cmd {
	var args []string
	switch c.way {
	case "curl":
		shared := strings.ReplaceAll(c.shared, "export FOYER_URL=http://127.0.0.1:8000 FOYER_KEY=foy_…\n", "")
		args = []string{"sh", "-eu", "-c", shared + c.blocks[heading]}
	case "foyer":
		args = []string{"sh", "-eu", "-c", c.blocks[heading]}
	default:
		args = append(slices.Clone(c.program), c.task(heading))
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env, command.Stdin = c.dir, c.env, strings.NewReader("y\n")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // children of the shell end with it
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	return command
}

// cook does a job and checks the result.
func (c *cook) cook(t *testing.T, heading string) {
	t.Helper()
	job := jobs[heading]
	if job.endless {
		c.follow(t, heading, job)
		return
	}
	out, err := c.command(t.Context(), heading).CombinedOutput()
	if err == nil {
		err = job.done(t.Context(), c, c.ids[heading], string(out))
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, c.blocks[heading], out)
	}
	if job.spoil == nil {
		return
	}
	job.spoil(t, c)
	command := c.command(t.Context(), heading)
	out, err = command.CombinedOutput()
	if err == nil || command.ProcessState.ExitCode() != 1 || !bytes.Contains(out, []byte(job.fault)) {
		t.Errorf("%v, without %q\n%s", err, job.fault, out)
	}
}

// follow runs a job that does not end, until its result is there.
func (c *cook) follow(t *testing.T, heading string, job job) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	command := c.command(ctx, heading)
	command.Stdout, command.Stderr = &out, &out
	check(t, command.Start())
	var err error
	for ; ctx.Err() == nil; pause() {
		if err = job.done(ctx, c, c.ids[heading], ""); err == nil {
			break
		}
	}
	cancel()
	_ = command.Wait() // it was killed
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(file), 0o700))
	check(t, os.WriteFile(file, []byte(text), 0o600))
}

// An app whose upgrade cannot be reviewed is not upgraded, even if the shell goes on after an error.
func TestCookbookUpgradesNothingUnseen(t *testing.T) {
	t.Parallel()
	var upgrades atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			upgrades.Add(1)
			fmt.Fprint(w, `{"id":7,"name":"Chat"}`)
		case strings.HasSuffix(r.URL.Path, "/upgrade"):
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, `{"errors":[{"type":"server_error","code":"upstream_unavailable","detail":"It does not answer.","attr":null}]}`)
		default:
			fmt.Fprint(w, `{"count":1,"next":null,"previous":null,"results":[{"id":7,"name":"Chat"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	shared, recipes := readCookbook(t)
	at := slices.IndexFunc(recipes, func(r recipe) bool { return strings.HasPrefix(r.heading, "Upgrade what has updates") })
	for way, block := range map[string]string{
		"curl":  strings.ReplaceAll(shared["curl"], "export FOYER_URL=http://127.0.0.1:8000 FOYER_KEY=foy_…\n", "") + recipes[at].blocks["curl"],
		"foyer": recipes[at].blocks["foyer"],
	} {
		command := exec.CommandContext(t.Context(), "sh", "-c", block)
		command.Dir, command.Stdin = t.TempDir(), strings.NewReader("y\n")
		command.Env = []string{"PATH=" + binary + string(filepath.ListSeparator) + os.Getenv("PATH"), "FOYER_URL=" + server.URL, "FOYER_KEY=foy_x"}
		if out, err := command.CombinedOutput(); err != nil || upgrades.Swap(0) != 0 || len(out) == 0 || bytes.Contains(out, []byte("Upgrade app")) {
			t.Errorf("%s: %v, %s", way, err, out)
		}
	}
}
