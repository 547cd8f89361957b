package bundle

import (
	"strings"
	"testing"
)

// A path that ends like a folder does not mean a file beside the folder.
func TestResolveFolder(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for _, name := range []string{"index.ts", "lib.ts", "lib/index.ts", "lib/a/index.ts", "alone.ts"} {
		files[name] = ""
	}
	for _, c := range []struct{ importer, spec, want string }{
		{"site.ts", "./lib", "lib.ts"},
		{"site.ts", "./lib/", "lib/index.ts"},
		{"site.ts", "./lib/.", "lib/index.ts"},
		{"site.ts", "./alone/", ""},
		{"site.ts", ".", "index.ts"},
		{"lib/b.ts", ".", "lib/index.ts"},
		{"lib/b.ts", "./", "lib/index.ts"},
		{"lib/a/b.ts", "..", "lib/index.ts"},
		{"lib/a/b.ts", "../..", "index.ts"},
		{"lib/a/b.ts", "../../lib", "lib.ts"},
	} {
		if got, err := resolve(files, c.importer, c.spec); got != c.want {
			t.Errorf("%s from %s: %q, %v; want %q", c.spec, c.importer, got, err, c.want)
		}
	}
}

// The name of what TypeScript compiles a file to means that file.
func TestResolveTypeScript(t *testing.T) {
	t.Parallel()
	files := sources{"a.ts": "", "b.tsx": "", "c.tsx": ""}
	for spec, want := range map[string]string{"./a.js": "a.ts", "./b.js": "b.tsx", "./c.jsx": "c.tsx", "./a.jsx": ""} {
		if got, err := resolve(files, "site.ts", spec); got != want {
			t.Errorf("%s: %q, %v; want %q", spec, got, err, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("site.ts\nsrc/a.ts\nlib/index.tsx\nb.json", "site.ts", "./src/a")
	f.Add("site.ts\nsrc/a.ts\nlib/index.tsx\nb.json", "src/a.ts", "../lib/")
	f.Add("site.ts\n../x.ts", "src/a.ts", "../../x")
	f.Add("a.ts\n.\n..\n", "a.ts", "..")
	f.Add("a.ts\nreact", "a.ts", "react")
	f.Add("/etc/passwd", "/a", "./etc/passwd")
	f.Add("x.tsx", "\x00", "./x.jsx")
	f.Fuzz(func(t *testing.T, names, importer, spec string) {
		files := make(map[string]string)
		for name := range strings.SplitSeq(names, "\n") {
			files[name] = ""
		}
		name, err := resolve(files, importer, spec)
		if (name == "") == (err == nil) {
			t.Fatalf("%q from %q: name %q and error %v", spec, importer, name, err)
		}
		if err != nil {
			return
		}
		if _, own := files[name]; !own {
			t.Errorf("%q from %q is %q, which is not there", spec, importer, name)
		}
		if first, _, _ := strings.Cut(spec, "/"); first != "." && first != ".." {
			t.Errorf("%q from %q is %q, though it is not relative", spec, importer, name)
		}
	})
}
