package unpack_test

import (
	"bytes"
	"encoding/gob"
	"path"
	"testing"

	"foyer/internal/infra/upstream/unpack"
)

func FuzzRun(f *testing.F) {
	f.Add([]byte("564445cb89de4b0c85935b1941db781a7efc82fc\nPACK\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add([]byte("\nPACK"))
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		if err := unpack.Run(bytes.NewReader(input), &out); err != nil {
			return
		}
		var answer unpack.Answer
		if err := gob.NewDecoder(&out).Decode(&answer); err != nil || answer.Files == nil && !answer.NoCommit && answer.Refused+answer.Broken == "" {
			t.Errorf("answer %+v: %v", answer, err)
		}
	})
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for name, fine := range map[string]bool{
		"site.ts": true, "src/a b.tsx": true, "ünï/漢.md": true, "no_extension": true, ".hidden": true,
		"": false, ".": false, "..": false, "../a": false, "a/../b": false, "a..b": false, "/a": false, "a/": false, "a//b": false,
		"./a": false, `a\b`: false, "a\nb": false, "a\x00": false, "\xff": false,
	} {
		if got := unpack.FileName(name); got != fine {
			t.Errorf("%q: %v, want %v", name, got, fine)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, name := range []string{"site.ts", "../a", "a/../../b", "/a", `a\b`, "a\x00b", "....//"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !unpack.FileName(name) {
			return
		}
		if inside := path.Join("/app", name); inside != "/app/"+name {
			t.Errorf("%q is %q", name, inside)
		}
	})
}
