// Package layout holds the rules of who may import whom and how long a file may
// be. It has tests alone.
package layout

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "foyer/"

// words are the packages that every other may use; they use none but each other.
var words = []string{"fault", "page", "patch"}

// allowed lists what each package imports of foyer's own, besides the words, and no
// other may. A package that is not listed may not exist.
var allowed = map[string][]string{
	// faces
	"api":     {"access", "activity", "invite", "openapi", "org", "plugin", "router", "wire"},
	"console": {"access", "flight", "invite", "org", "plaintext", "plugin", "router", "wire"},
	// The command line answers with the API's own objects: it alone of the faces
	// may use another.
	"cli": {"access", "activity", "api", "config", "invite", "org", "plugin", "server", "wire"},
	// domain
	"plugin":   {"access", "activity", "bundle", "cache", "db", "fair", "flight", "lastuse", "org", "sandbox", "upstream"},
	"invite":   {"access", "activity", "cache", "db", "job", "letter", "mail", "org", "seal"},
	"org":      {"access", "activity", "address", "db"},
	"access":   {"db", "flight", "lastuse", "seal"},
	"activity": {"db"},
	// machinery
	"upstream":  {"fair", "flight", "sandbox", "seal"},
	"bundle":    {"sandbox"},
	"sandbox":   {"fair"},
	"mail":      {"address", "plaintext"},
	"letter":    {"plaintext"},
	"address":   {},
	"plaintext": {},
	"job":       {"db"},
	"lastuse":   {"db"},
	"db":        {},
	"cache":     {},
	"fair":      {},
	"flight":    {},
	"http1":     {},
	"router":    {},
	"seal":      {},
	// words
	"fault": {},
	"page":  {},
	"patch": {},
	// around them
	"wire":    {"fair"},
	"openapi": {"plaintext"},
	"config":  {"mail"},
	"server": {
		"access", "activity", "api", "bundle", "config", "console", "db", "http1", "invite", "job", "mail", "org", "plaintext", "plugin", "router",
		"sandbox", "upstream", "wire",
	},
	"layout": {},
}

// reserved lists packages of others that few of ours may import.
var reserved = map[string][]string{
	"database/sql":          {"db"},
	"github.com/jackc/pgx":  {"db"},
	"modernc.org/sqlite":    {"db"},
	"github.com/go-json-":   {"upstream", "wire"},
	"github.com/alecthomas": {"cli"},
	"github.com/evanw":      {"bundle"},
	"github.com/go-git":     {"upstream"},
	"github.com/wneessen":   {"mail"},
	"github.com/prometheus": {"server"},
	"net/http":              {"api", "console", "http1", "openapi", "router", "server", "upstream", "wire"},
}

// file is one Go file of the program.
type file struct {
	path    string // from the root of the repository
	pkg     string // the folder below internal that it is in; "" elsewhere
	imports []string
}

func (f file) test() bool {
	return strings.HasSuffix(f.path, "_test.go") || strings.HasSuffix(filepath.Dir(f.path), "test")
}

func TestImports(t *testing.T) {
	t.Parallel()
	used := map[[2]string]bool{}
	for _, f := range files(t) {
		if f.pkg == "" || f.test() {
			continue
		}
		may, known := allowed[f.pkg]
		if !known {
			t.Errorf("%s: add package %s to the table, with what it may import", f.path, f.pkg)
		}
		for _, imported := range f.imports {
			if own, ok := strings.CutPrefix(imported, module+"internal/"); ok {
				if strings.HasSuffix(own, "test") {
					t.Errorf("%s imports %s, which is for tests", f.path, own)
				}
				own, _, _ = strings.Cut(own, "/")
				used[[2]string{f.pkg, own}] = true
				if own != f.pkg && !slices.Contains(may, own) && !slices.Contains(words, own) {
					t.Errorf("%s: %s may not import %s", f.path, f.pkg, own)
				}
			}
			for prefix, who := range reserved {
				if strings.HasPrefix(imported, prefix) && !slices.Contains(who, f.pkg) {
					t.Errorf("%s: %s may not import %s: %v may", f.path, f.pkg, imported, who)
				}
			}
		}
	}
	for pkg, may := range allowed {
		for _, own := range may {
			if !used[[2]string{pkg, own}] {
				t.Errorf("%s does not import %s: take it out of the table", pkg, own)
			}
		}
	}
}

// The words are the innermost part: standard library and each other alone.
func TestWordsKnowNobody(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !slices.Contains(words, f.pkg) || f.test() {
			continue
		}
		for _, imported := range f.imports {
			own, isOwn := strings.CutPrefix(imported, module+"internal/")
			if strings.Contains(imported, ".") || isOwn && !slices.Contains(words, own) {
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
	}
}

// The client is for programs that have nothing of foyer but its address.
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

// The program is the command line, or a child in the sandbox.
func TestMainIsSmall(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !strings.HasPrefix(f.path, "cmd/") {
			continue
		}
		for _, imported := range f.imports {
			own, isOwn := strings.CutPrefix(imported, module+"internal/")
			if isOwn && !slices.Contains([]string{"cli", "sandbox", "server"}, own) {
				t.Errorf("%s imports %s", f.path, imported)
			}
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

// root is the repository, seen from here.
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
		f.pkg, _, _ = strings.Cut(below, "/")
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
