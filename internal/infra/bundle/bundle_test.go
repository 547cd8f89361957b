package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/base/fault"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m, map[string]sandbox.Task{TaskName: Work}) }

type sources = map[string]string

// mustCompile compiles files, one child at a time.
func mustCompile(t *testing.T, files sources) Result {
	t.Helper()
	got, err := Compile(t.Context(), sandbox.New(1, 0, slog.New(slog.DiscardHandler)), "Acme", files)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// onlyOwn ends the error of an import that is not relative.
const onlyOwn = " cannot be imported: an app imports only its own files, by a path that starts with ./ or ../"

// howTo follows onlyOwn when a package is imported.
const howTo = onlyOwn + ". " + built

// blame returns a file that was not compiled.
func blame(name, text string, line, column int) File {
	return File{Name: name, Status: Failed, Error: text, Line: line, Column: column}
}

// wantBundle compiles files and compares the bundle.
func wantBundle(t *testing.T, files sources, want string) {
	t.Helper()
	got := mustCompile(t, files)
	if got.Bundle == nil {
		t.Fatalf("no bundle: %+v", got.Files)
	}
	if diff := cmp.Diff(want, strings.TrimSpace(string(got.Bundle.JS))); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}
}

// wantFiles compiles files whose site must fail, and compares the errors.
func wantFiles(t *testing.T, files sources, want ...File) {
	t.Helper()
	got := mustCompile(t, files)
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got.Bundle != nil {
		t.Errorf("a bundle in spite of it: %s", got.Bundle.JS)
	}
}

func TestCompile(t *testing.T) {
	t.Parallel()
	got := mustCompile(t, sources{
		"site.ts":      "export function inject({ config }: { config: object }): void { console.log(config) }",
		"frontend.tsx": "import { Scene } from 'elsewhere'\nexport const scene = (title: string) => <Scene title={title} />",
		"index.ts":     "export const x: = 1",
		"plugin.json":  `{"name": "an app", "main": "src/index.ts"}`,
		"src/index.ts": "not an entry, but the main of another program (",
	})
	want := []File{
		{Name: "frontend.tsx", Status: Transpiled},
		{Name: "index.ts", Status: Failed, Error: `Unexpected "="`, Line: 1, Column: 17},
		{Name: "plugin.json", Status: Raw},
		{Name: "site.ts", Status: Transpiled},
		{Name: "src/index.ts", Status: Raw},
	}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got.Site != "site.ts" || got.Bundle == nil {
		t.Fatalf("site %q, bundle %v", got.Site, got.Bundle)
	}
	sum := sha256.Sum256(got.Bundle.JS)
	if got.Bundle.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("sha256 is %s, want %x", got.Bundle.SHA256, sum)
	}
	const integrity = "sha384-VocpFFjsPojTnQrI2mLkSshAtI5ZxHyhwl9l6zGaoF2tRDsONsz48clbllqXLGhq"
	if got.Bundle.Integrity != integrity {
		t.Errorf("integrity is %s of %s, want %s", got.Bundle.Integrity, got.Bundle.JS, integrity)
	}
	again := mustCompile(t, sources{"site.ts": "export function inject({ config }: { config: object }): void { console.log(config) }"})
	if again.Bundle.SHA256 != got.Bundle.SHA256 {
		t.Error("the same source made another bundle")
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files sources
		want  string
	}{
		"own files by relative path": {
			sources{
				"site.ts":           "import { a } from './src/a'\nimport data from './data.json'\nimport css from './look.css'\nexport const all = [a, data.n, css]",
				"src/a.ts":          "import b from '../lib'\nimport c from './c.js'\nexport const a = b + c",
				"src/c.ts":          "export default 'c'",
				"lib/index.ts":      "export default 'b'",
				"data.json":         `{"n": 7, "unused": 8}`,
				"look.css":          "p { color: red }",
				"src/a.test.ts":     "(",
				"tsconfig.json":     "(",
				"package.json":      "(",
				"src/tsconfig.json": "(",
			},
			`var o="b";var r="c";var t=o+r;var m={n:7,unused:8};var p="p { color: red }";var g=[t,m.n,p];export{g as all};`,
		},
		"ES2017":               {sources{"site.ts": "export const f = (x?: {y: number}) => x?.y ?? 2 ** 3"}, `var o=e=>{var n;return(n=e==null?void 0:e.y)!=null?n:8};export{o as f};`},
		"nothing":              {sources{"site.ts": ""}, ``},
		"default export":       {sources{"site.ts": "export default 1"}, `var e=1;export{e as default};`},
		"classic JSX":          {sources{"site.tsx": "export const a = <b c='d'>{1}</b>"}, `var b=React.createElement("b",{c:"d"},1);export{b as a};`},
		"JSX by comment":       {sources{"site.tsx": "/** @jsx h */ import { h } from './h'\nexport const a = <b/>", "h.ts": "export const h = (s: string) => s"}, `var o=t=>t;var p=o("b",null);export{p as a};`},
		"types of others":      {sources{"site.ts": "import type { A } from 'a'\nimport { B } from 'b'\nexport const c = (x: A): B => x"}, `var r=o=>o;export{r as c};`},
		"site.ts comes first":  {sources{"site.ts": "export const a = 1", "site.tsx": "export const b = 2"}, `var o=1;export{o as a};`},
		"import of the folder": {sources{"site.ts": "export * from './lib'", "lib/b.ts": "export * from '.'\nexport const b = 1", "lib/index.ts": "export * from './b'"}, `var o=1;export{o as b};`},
		"no source map":        {sources{"site.ts": "export const a = 1\n//# sourceMappingURL=/etc/passwd"}, `var o=1;export{o as a};`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantBundle(t, test.files, test.want)
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		site         string
		text         string
		line, column int
	}{
		"bare":       {"import React from 'react'\nReact()", `"react"` + howTo, 1, 19},
		"url":        {"\nexport * from 'https://example.com/a.js'", `"https://example.com/a.js"` + onlyOwn, 2, 15},
		"data url":   {"import 'data:text/javascript,1'", `"data:text/javascript,1"` + onlyOwn, 1, 8},
		"absolute":   {"import '/etc/passwd'", `"/etc/passwd"` + onlyOwn, 1, 8},
		"require":    {"require('fs')", `"fs"` + howTo, 1, 9},
		"dynamic":    {"import('fs')", `"fs"` + howTo, 1, 8},
		"outside":    {"import '../../etc/passwd'", `"../../etc/passwd" is not one of the app's files`, 1, 8},
		"missing":    {"import './nowhere'", `"./nowhere" is not one of the app's files`, 1, 8},
		"automatic":  {"/** @jsxRuntime automatic */ export const a = <b/>", `"react/jsx-runtime"` + howTo, 1, 47},
		"characters": {"const s = 'é√😀'; let s = 1", `The symbol "s" has already been declared`, 1, 22},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFiles(t, sources{"site.tsx": test.site}, blame("site.tsx", test.text, test.line, test.column))
		})
	}
}

func TestErrorElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("import", func(t *testing.T) {
		t.Parallel()
		wantFiles(t,
			sources{"site.ts": "import './lib'", "lib.ts": "\n  import 'react'; import 'fs'", "other.ts": ""},
			blame("lib.ts", `"react"`+howTo, 2, 10),
			File{Name: "other.ts", Status: Raw},
			blame("site.ts", `lib.ts:2:10: "react"`+howTo, 0, 0),
		)
	})
	t.Run("export", func(t *testing.T) {
		t.Parallel()
		const text = `No matching export in "b.js" for import "c"`
		wantFiles(t,
			sources{"site.ts": "import './a'", "a.js": "import { c } from './b'\nc()", "b.js": "export const d = 1"},
			blame("a.js", text, 1, 10),
			File{Name: "b.js", Status: Raw},
			blame("site.ts", "a.js:1:10: "+text, 0, 0),
		)
	})
	t.Run("an entry that compiles alone", func(t *testing.T) {
		t.Parallel()
		wantFiles(t,
			sources{"site.ts": "import './index'", "index.ts": "import 'fs'"},
			blame("index.ts", `"fs"`+howTo, 1, 8),
			blame("site.ts", `index.ts:1:8: "fs"`+howTo, 0, 0),
		)
	})
}

// TestPatternImports tries to make the compiler list and read the disk, which it does for import(`./${name}`) without
// asking.
func TestPatternImports(t *testing.T) {
	t.Parallel()
	const want = "A path that is computed cannot be imported: write out the path of each file."
	for _, site := range []string{
		"export const f = (x: string) => import(`./etc/${x}.json`)",
		"export const f = (x: string) => import(`../../../../etc/${x}`)",
		"export const f = (x: string) => require('./proc/self/' + x)",
	} {
		got := mustCompile(t, sources{"site.ts": site})
		if f := got.Files[0]; f.Status != Failed || f.Error != want || f.Line != 1 || got.Bundle != nil {
			t.Errorf("%s: got %+v", site, f)
		}
	}
}

func TestLongErrorIsCut(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("é", 100_000)
	got := mustCompile(t, sources{"site.ts": "let " + name + "; let " + name})
	if f := got.Files[0]; f.Status != Failed || len(f.Error) > 2_000 || !strings.HasSuffix(f.Error, "é…") {
		t.Errorf("got %d bytes: %.200s", len(f.Error), f.Error)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	_, err := Compile(t.Context(), sandbox.New(0, 0, slog.New(slog.DiscardHandler)), "Acme", sources{"index.ts": ""})
	if !fault.Is(err, fault.Busy) || fault.Of(err)[0].RetryAfter <= 0 {
		t.Errorf("got %v, want Busy with a time to retry after", err)
	}
}

func TestNothingToCompile(t *testing.T) {
	t.Parallel()
	got := mustCompile(t, sources{"README.md": "(", "src/site.ts": "("})
	want := Result{Files: []File{{Name: "README.md", Status: Raw}, {Name: "src/site.ts", Status: Raw}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHostile is not parallel, because it counts the memory of the whole process.
func TestHostile(t *testing.T) {
	var redeclare strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&redeclare, "let a = %d; const a = 1; function a() {}\n", i)
	}
	for name, test := range map[string]struct{ text, want string }{
		"300 KB of (":        {strings.Repeat("(", 300_000), "Compiling this file was stopped: its input is nested too deeply."},
		"10,000 times let a": {redeclare.String(), "Compiling this file was stopped: it took "},
	} {
		t.Run(name, func(t *testing.T) {
			var got Result
			cost := allocated(func() {
				got = mustCompile(t, sources{"site.ts": test.text, "index.ts": "export const fine = 1"})
			})
			if index := (File{Name: "index.ts", Status: Transpiled}); got.Files[0] != index {
				t.Errorf("the other entry: got %+v, want %+v", got.Files[0], index)
			}
			site := got.Files[1]
			if site.Status != Failed || !strings.HasPrefix(site.Error, test.want) || got.Bundle != nil {
				t.Errorf("got %+v, want an error %q", site, test.want)
			}
			if cost > 8<<20 {
				t.Errorf("the parent allocated %d MB", cost>>20)
			}
		})
	}
}

// TestBigApp is not parallel for the same reason.
func TestBigApp(t *testing.T) {
	files := make(sources)
	var site strings.Builder
	for i := range 10 {
		files[fmt.Sprintf("part%d.ts", i)] = "//" + strings.Repeat("\x01", 1<<20-100) + fmt.Sprintf("\nexport const p%d = %d", i, i)
		fmt.Fprintf(&site, "export * from './part%d'\n", i)
	}
	files["site.ts"] = site.String()
	var got Result
	cost := allocated(func() { got = mustCompile(t, files) })
	if got.Bundle == nil || !strings.Contains(string(got.Bundle.JS), " as p9}") {
		t.Errorf("got %+v", got)
	}
	if cost > 8<<20 {
		t.Errorf("the parent allocated %d MB for an app of 10", cost>>20)
	}
}

// allocated returns how many bytes this process allocates while f runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
