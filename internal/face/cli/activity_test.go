package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// verify exits with 1 and names the first entry that is not there.
func TestActivityVerify(t *testing.T) {
	t.Parallel()
	environ := []string{"FOYER_DATA_DIR=" + filepath.Join(t.TempDir(), "data")}
	hash := strings.Repeat("5f", 32)
	for _, c := range []struct {
		line     string
		code     int
		says     string
		complain string
	}{
		{"organization create --name=Acme", OK, "Acme", ""},
		{"activity", OK, "created", ""},
		{"activity list --scope=Key", OK, "TIME", ""},
		{"activity head", OK, "NUMBER", ""},
		{"activity head --json", OK, `{"number":0,"hash":"` + strings.Repeat("0", 64) + `","at":null}`, ""},
		{"admin activity verify --json", OK, `"entries":0`, ""},
		{"admin activity verify --head=5:" + hash, Refused, "entry 1 was removed", "entry 1 was removed"},
		{"admin activity verify --head=5:x", Misused, "", "NUMBER:HASH"},
		{"admin activity verify --head=0:" + hash, Misused, "", "NUMBER:HASH"},
		{"admin activity verify --head=" + hash, Misused, "", "NUMBER:HASH"},
	} {
		var out, complaints bytes.Buffer
		code := Run(t.Context(), strings.Fields(c.line), environ, strings.NewReader(""), &out, &complaints)
		if code != c.code || !strings.Contains(out.String(), c.says) || !strings.Contains(complaints.String(), c.complain) {
			t.Errorf("%s: %d, %s%s", c.line, code, &out, &complaints)
		}
	}
}
