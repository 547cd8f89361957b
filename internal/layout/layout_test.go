// Package layout has the rules about which packages may import which, and about how long a file may be. It contains
// only tests.
package layout

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "foyer/"

// rules lists, for each folder below internal, our folders that its packages may import. Packages of one folder may
// import each other unless alone is set.
var rules = map[string]struct {
	may   []string
	alone bool
}{
	"base":   {},
	"infra":  {may: []string{"base"}},
	"domain": {may: []string{"base", "infra"}},
	"face":   {may: []string{"base", "domain", "face/wire", "client"}, alone: true},
	"config": {may: []string{"base", "infra"}},
	"server": {may: []string{"base", "infra", "domain", "face", "config"}},
	"cli":    {may: []string{"base", "domain", "face", "config", "server", "client"}},
	"layout": {},
}

// libraries lists, for some libraries, which of our packages may import them.
var libraries = map[string][]string{
	"database/sql":          {"infra/db"},
	"github.com/jackc/pgx":  {"infra/db"},
	"modernc.org":           {"infra/db"},
	"unsafe":                {"infra/db"},                    // for SQLite's C interface (ADR 8)
	"github.com/go-json-":   {"infra/upstream", "face/wire"}, // strict, for untrusted input
	"github.com/alecthomas": {"cli"},
	"github.com/evanw":      {"infra/bundle"},
	"github.com/go-git":     {"infra/upstream"},
	"github.com/wneessen":   {"infra/mail"},
	"github.com/coreos":     {"infra/oidc"},
	"golang.org/x/oauth2":   {"infra/oidc"},
	"golang.org/x/term":     {"cli"},
	"github.com/prometheus": {"server"},
	"go.yaml.in":            {"face/openapi"},
	"net/http":              {"face", "server", "cli", "infra/upstream", "infra/oidc", "infra/trace"},
}

// file is one Go file of the program.
type file struct {
	path    string // from the root of the repository
	pkg     string // its package, such as domain/plugin; "" outside of internal
	imports []string
}

func (f file) test() bool {
	return strings.HasSuffix(f.path, "_test.go") || strings.HasSuffix(filepath.Dir(f.path), "test")
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.pkg == "" || f.test() {
			continue
		}
		folder, _, _ := strings.Cut(f.pkg, "/")
		rule, known := rules[folder]
		if !known {
			t.Errorf("%s: no rule for the folder internal/%s", f.path, folder)
		}
		may := rule.may
		if !rule.alone {
			may = append(slices.Clip(may), folder)
		}
		for _, imported := range f.imports {
			own, isOwn := strings.CutPrefix(imported, module)
			own = strings.TrimPrefix(own, "internal/")
			if isOwn && strings.HasSuffix(own, "test") {
				t.Errorf("%s imports %s, which is for tests", f.path, own)
			}
			if isOwn && !within(own, f.pkg) && !slices.ContainsFunc(may, func(folder string) bool { return within(own, folder) }) {
				t.Errorf("%s: internal/%s may not import %s", f.path, f.pkg, imported)
			}
			for prefix, who := range libraries {
				if strings.HasPrefix(imported, prefix) && !slices.ContainsFunc(who, func(folder string) bool { return within(f.pkg, folder) }) {
					t.Errorf("%s: internal/%s may not import %s: %v may", f.path, f.pkg, imported, who)
				}
			}
		}
	}
}

// within reports whether a package is a folder or below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// The packages for apps and sites, and those for people, do not import each other.
func TestAppsAndPeople(t *testing.T) {
	t.Parallel()
	apps := []string{"domain/bundles", "domain/configschema", "domain/plugin", "domain/report", "domain/site", "domain/source"}
	people := []string{"domain/invite", "domain/signin", "domain/addresschange"}
	apart := func(f file, these, others []string) {
		for _, imported := range f.imports {
			own, _ := strings.CutPrefix(imported, module+"internal/")
			if slices.Contains(these, f.pkg) && slices.Contains(others, own) {
				t.Errorf("%s: internal/%s may not import internal/%s", f.path, f.pkg, own)
			}
		}
	}
	for _, f := range files(t) {
		if !f.test() {
			apart(f, apps, people)
			apart(f, people, apps)
		}
	}
}

// Packages in base import only the standard library, golang.org/x and each other.
func TestBaseHasNoDependencies(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !within(f.pkg, "base") || f.test() {
			continue
		}
		for _, imported := range f.imports {
			first, _, _ := strings.Cut(imported, "/")
			if strings.Contains(first, ".") && first != "golang.org" {
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
	}
}

// The client is for programs that have only foyer's address.
func TestClientStandsAlone(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !strings.HasPrefix(f.path, "client/") || f.test() {
			continue
		}
		for _, imported := range f.imports {
			if strings.HasPrefix(imported, module) || strings.Contains(imported, ".") {
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
	}
}

// The program is either the command line or a child in the sandbox.
func TestMainIsSmall(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !strings.HasPrefix(f.path, "cmd/") {
			continue
		}
		for _, imported := range f.imports {
			own, isOwn := strings.CutPrefix(imported, module+"internal/")
			if isOwn && !slices.Contains([]string{"cli", "infra/sandbox", "server"}, own) {
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
	}
}

// The program contains no YAML parser: the parts of the OpenAPI document that it serves are generated beforehand (ADR
// 3).
func TestProgramReadsNoYAML(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/foyer")
	list.Dir = root
	packages, err := list.Output()
	if err != nil || !bytes.Contains(packages, []byte(module+"internal/server")) {
		t.Fatalf("%v: %s", err, packages)
	}
	for name := range strings.Lines(string(packages)) {
		if strings.Contains(name, "yaml") {
			t.Errorf("the program contains %s", name)
		}
	}
}

// Queries change no letter case, because databases do that by their locale (ADR 1).
func TestQueriesLeaveCaseAlone(t *testing.T) {
	t.Parallel()
	inCase := regexp.MustCompile(`(?i)\b(lower|upper)\(`)
	for _, f := range files(t) {
		content, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if found := inCase.Find(content); found != nil && within(f.pkg, "domain") && !f.test() {
			t.Errorf("%s: %s: normalise in Go", f.path, found)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	const longest, longestTest = 400, 600
	for _, f := range files(t) {
		limit := longest
		if f.test() {
			limit = longestTest
		}
		content, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(content, []byte("\n")); lines > limit {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by topic", f.path, lines, limit)
		}
	}
}

// large lists the packages that may have more lines than others; docs/architecture.md says why.
var large = []string{
	"client",
	"internal/domain/access", "internal/domain/activity", "internal/domain/event", "internal/domain/invite",
	"internal/domain/org", "internal/domain/plugin", "internal/domain/site",
	"internal/face/api", "internal/face/console", "internal/face/wire",
	"internal/infra/db", "internal/server", "internal/cli",
}

func TestPackagesAreSmall(t *testing.T) {
	t.Parallel()
	const longest = 1200
	lines := map[string]int{}
	for _, f := range files(t) {
		if f.test() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		lines[filepath.ToSlash(filepath.Dir(f.path))] += bytes.Count(content, []byte("\n"))
	}
	for folder, n := range lines {
		if n > longest && !slices.Contains(large, folder) {
			t.Errorf("%s has %d lines, at most %d are allowed: split it by topic", folder, n, longest)
		}
	}
}

// root is the repository, relative to this package.
const root = "../.."

func files(t *testing.T) []file {
	t.Helper()
	var all []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		f, err := read(path)
		all = append(all, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(path string) (file, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return file{}, err
	}
	relative, err := filepath.Rel(root, path)
	if err != nil {
		return file{}, err
	}
	f := file{path: filepath.ToSlash(relative)}
	if below, ok := strings.CutPrefix(f.path, "internal/"); ok {
		f.pkg = packageOf(below)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, imported)
	}
	return f, nil
}

// packageOf returns the package of a file below internal: its first two folders in the layers, or else its first one.
// Deeper folders are parts of that package.
func packageOf(path string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	if len(parts) > 1 && slices.Contains([]string{"base", "infra", "domain", "face"}, parts[0]) {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
