//go:build drill

package drill

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// wrongs are bugs that a drill must find, as changes to the program, by name.
var wrongs = map[string]struct{ file, from, to string }{
	"acknowledged and not committed": {
		"internal/infra/db/writer.go", "return afterCommit(w.conn.run(`COMMIT`))",
		"if n := w.conn.TotalChanges(); n > 500 && n%17 == 0 {\n\t\treturn w.conn.run(`ROLLBACK`)\n\t}\n\treturn afterCommit(w.conn.run(`COMMIT`))",
	},
	"a mail sent twice":  {"internal/domain/invite/post.go", "err = p.SMTP.Send(ctx, m)", "_ = p.SMTP.Send(ctx, m)\n\terr = p.SMTP.Send(ctx, m)"},
	"a count off by one": {"internal/domain/plugin/erase.go", "count(tx, p, -1, -one(p.IsGlobal))", "count(tx, p, 0, -one(p.IsGlobal))"},
}

// right builds the program without changes.
var right = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "foyer-drill-")
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir, "foyer/cmd/foyer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return filepath.Join(dir, "foyer")
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(filepath.Dir(right()))
	os.Exit(code)
}

// build builds the program with the bug that wrong names.
func build(t *testing.T, wrong string) string {
	t.Helper()
	dir := t.TempDir()
	w := wrongs[wrong]
	path, err := filepath.Abs(filepath.Join("../..", w.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), w.from) != 1 {
		t.Fatalf("%s does not have %q once: %v", w.file, w.from, err)
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	err = errors.Join(err, os.WriteFile(changed, []byte(strings.Replace(string(text), w.from, w.to, 1)), 0o600), os.WriteFile(overlay, replace, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-o", dir, "foyer/cmd/foyer")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "foyer")
}
