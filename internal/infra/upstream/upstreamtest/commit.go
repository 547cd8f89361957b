package upstreamtest

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Commit puts a commit of exactly these files (text by path) on top of the
// default branch and returns its name.
func (r *Repo) Commit(tb testing.TB, files map[string]string) string {
	tb.Helper()
	var s strings.Builder
	for i, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&s, "blob\nmark :%d\ndata %d\n%s\n", i+1, len(files[path]), files[path])
	}
	fmt.Fprintf(&s, "commit refs/heads/main\ncommitter Test <test@example.org> 1750000000 +0000\ndata 0\n\n")
	if r.Git(tb, "", "for-each-ref", "refs/heads/main") != "" {
		s.WriteString("from refs/heads/main^0\ndeleteall\n")
	}
	for i, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&s, "M 100644 :%d %q\n", i+1, path)
	}
	r.Git(tb, s.String(), "fast-import", "--quiet", "--force")
	return r.Git(tb, "", "rev-parse", "refs/heads/main")
}

// Tag makes a lightweight tag of a commit, or moves it there.
func (r *Repo) Tag(tb testing.TB, name, commit string) {
	tb.Helper()
	r.Git(tb, "", "update-ref", "refs/tags/"+name, commit)
}

// AnnotatedTag makes a tag that is an object of its own, or moves it.
func (r *Repo) AnnotatedTag(tb testing.TB, name, commit string) {
	tb.Helper()
	r.Git(tb, "", "tag", "--force", "--annotate", "--message=Release "+name, name, commit)
}

// Entry is an entry of a tree; unlike Commit, CommitTree accepts entries that git refuses.
type Entry struct {
	Mode   string // 100644, 100755, 120000 (symbolic link), 160000 (submodule), 40000 (folder)
	Name   string
	Object string // from Blob or Tree; for a submodule, any commit
}

// Blob stores a file's content and returns its name.
func (r *Repo) Blob(tb testing.TB, content string) string {
	tb.Helper()
	return r.Git(tb, content, "hash-object", "-w", "--stdin")
}

// Tree stores a folder with exactly these entries, and returns its name.
func (r *Repo) Tree(tb testing.TB, entries ...Entry) string {
	tb.Helper()
	var raw strings.Builder
	for _, e := range entries {
		object, err := hex.DecodeString(e.Object)
		if err != nil {
			tb.Fatalf("entry %q: %v", e.Name, err)
		}
		fmt.Fprintf(&raw, "%s %s\x00%s", e.Mode, e.Name, object)
	}
	return r.Git(tb, raw.String(), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
}

// CommitTree commits the tree as the default branch's head.
func (r *Repo) CommitTree(tb testing.TB, tree string) {
	tb.Helper()
	r.Git(tb, "", "update-ref", "refs/heads/main", r.Git(tb, "", "commit-tree", "-m", "crafted", tree))
}
