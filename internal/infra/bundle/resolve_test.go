package bundle

import (
	"strings"
	"testing"
)

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
