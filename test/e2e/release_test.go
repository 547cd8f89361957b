package e2e

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var targets = flag.String("targets", "", "the systems for which TestRelease builds archives; it takes minutes")

// Two clones of a commit give the same archives, byte for byte, with any settings of Go. They contain all parts of a
// release.
func TestRelease(t *testing.T) {
	if *targets == "" {
		t.Skip("for make measure")
	}
	t.Parallel()
	first, second := release(t, "GOFLAGS=-buildvcs=false GOAMD64=v3 GOARM64=v9.0"), release(t, "GOFLAGS=")
	names, err := fs.Glob(os.DirFS(first), "*")
	if err != nil || len(names) != 2*len(strings.Fields(*targets))+1 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		one, err := os.ReadFile(filepath.Join(first, name))
		check(t, err)
		if other, err := os.ReadFile(filepath.Join(second, name)); err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s is not the same twice (%v)", name, err)
		}
	}
	shell(t, first, "sha256sum --check --strict SHA256SUMS && for f in *.tar.gz; do tar xzf $f; done")
	inside, err := filepath.Glob(filepath.Join(first, "foyer_*_"+runtime.GOOS+"_"+runtime.GOARCH))
	if err != nil || len(inside) != 1 {
		t.Fatal(inside, err)
	}
	for _, name := range []string{
		"LICENSE", "README.md", "docs/operating.md", "completions/foyer.bash", "completions/foyer.zsh", "completions/foyer.fish",
		"deploy/foyer.service", "deploy/compose.yml", "deploy/foyer.env.example", "deploy/prometheus-rules.yml",
	} {
		if info, err := os.Stat(filepath.Join(inside[0], name)); err != nil || info.Size() == 0 {
			t.Errorf("the archive has no %s (%v)", name, err)
		}
	}
	namesWhatIsThere(t, inside[0], "README.md", `\]\(([^)#:]+)\)`)
	namesWhatIsThere(t, filepath.Join(inside[0], "docs"), "api.md", `\]\(([^)#:]+)(?:#[^)]*)?\)`)
	namesWhatIsThere(t, inside[0], "docs/operating.md", `(?m)^(?:make && )?sudo install (?:-D )?(?:-m \d+ )?(\w\S*) /`)
	version := strings.TrimSpace(shell(t, inside[0], "./foyer version"))
	if version == "" || !strings.Contains(filepath.Base(inside[0]), "_"+version+"_") {
		t.Errorf("%s has version %q", filepath.Base(inside[0]), version)
	}
	if built := shell(t, inside[0], "go version -m foyer"); !strings.Contains(built, "vcs.revision=") || !strings.Contains(built, "vcs.modified=false") {
		t.Errorf("the program does not have the commit that it was built from:\n%s", built)
	}
	if list := shell(t, first, "cat *.sbom.json"); !strings.Contains(list, `"purl": "pkg:golang/github.com/jackc/pgx/v5@`) {
		t.Errorf("the list of what is in it does not name pgx:\n%.2000s", list)
	}
}

// namesWhatIsThere checks that the files which a document names exist.
func namesWhatIsThere(t *testing.T, dir, document, naming string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, document))
	check(t, err)
	named := regexp.MustCompile(naming).FindAllStringSubmatch(string(text), -1)
	if len(named) < 4 {
		t.Errorf("%s names %q", document, named)
	}
	for _, match := range named {
		if _, err := os.Stat(filepath.Join(dir, match[1])); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}

// Uncommitted changes cannot be in a release: it would claim to be of the commit.
func TestReleaseIsOfACommit(t *testing.T) {
	t.Parallel()
	dir := clone(t)
	shell(t, dir, "touch cmd/foyer/other.go; scripts/release out 2>problems && exit 1; grep -F cmd/foyer/other.go problems")
}

// release builds the archives of the last commit in a clone, with these variables, and returns their folder.
func release(t *testing.T, variables string) string {
	t.Helper()
	out := t.TempDir()
	shell(t, clone(t), variables+" scripts/release "+out+" "+*targets)
	return out
}

func clone(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	check(t, err)
	dir := filepath.Join(t.TempDir(), "clone")
	shell(t, root, "git clone --quiet . "+dir)
	return dir
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir = dir
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, problems.String())
	}
	return string(out)
}
