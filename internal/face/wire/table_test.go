package wire

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// docs/api.md has each row of the table of errors, and no other.
func TestErrorsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `(\\w+)` \\| `(\\w+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[m[1]+" "+m[2]+" "+m[3]] = true
	}
	if len(documented) != len(table) {
		t.Errorf("%d errors are documented, there are %d", len(documented), len(table))
	}
	for kind, r := range table {
		if name := strconv.Itoa(r.status) + " " + r.kind + " " + r.code; !documented[name] {
			t.Errorf("kind %d, %s, is not documented", kind, name)
		}
	}
}
