package loader_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"foyer/internal/domain/site/loader"
	"foyer/internal/infra/bundle"
)

const (
	base  = "https://foyer.example.com"
	token = "JSWYAQ3PGEZDGNBVGY3TQOJQGE"
)

func TestGenerated(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("loader.ts")
	if err != nil {
		t.Fatal(err)
	}
	want, err := bundle.Script(string(source))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("loader.js"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("loader.js is not up to date (%v): run go generate ./internal/domain/site/loader", err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 300 {
		t.Errorf("loader.ts has %d lines", lines)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	_, _ = w.Write(loader.Script("https://www.a-longer-name.example.com:8443/foyer", token))
	_ = w.Close()
	if small.Len() > 3<<10 {
		t.Errorf("the loader has %d bytes, compressed; a page gets at most 3 KB", small.Len())
	}
}

// A text that the server writes into the script stays a text, wherever the script is embedded.
func TestScript(t *testing.T) {
	t.Parallel()
	script := string(loader.Script(base, token))
	if !strings.Contains(script, `"`+base+`"`) || !strings.Contains(script, `"`+token+`"`) || strings.Contains(script, "{{") {
		t.Errorf("the loader does not know its server or its site: %.200s", script)
	}
	for _, evil := range []string{`"+alert(1)+"`, `\"+alert(1)//`, "</script><script>alert(1)</script>", "\u2028alert(1)", "{{site}}"} {
		script := string(loader.Script("https://x.example/"+evil, evil))
		var first string // a literal
		_, rest, _ := strings.Cut(script, "=>{const ")
		_, rest, _ = strings.Cut(rest, "=")
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(&first); err != nil || first != "https://x.example/"+evil {
			t.Errorf("%q is %q in the script, %v", evil, first, err)
		}
		if strings.Contains(script, "</script>") || strings.Contains(script, "\u2028") {
			t.Errorf("%q can end the script: %.200s", evil, script)
		}
	}
}
