package bundle

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files sources
		want  string
	}{
		"the first":          {sources{"site.mjs": "", "site.jsx": "", "site.js": "", "site.tsx": ""}, "site.tsx"},
		"jsx":                {sources{"site.mjs": "", "site.jsx": ""}, "site.jsx"},
		"before main":        {sources{"site.mjs": "", "dist/site.js": "", "plugin.json": `{"main": "dist/site.js"}`}, "site.mjs"},
		"main":               {sources{"dist/site.js": "", "plugin.json": `{"main": "dist/site.js"}`}, "dist/site.js"},
		"main, written long": {sources{"out/web/site.mjs": "", "plugin.json": "\ufeff" + `{"main": "./out//web/site.mjs"}`}, "out/web/site.mjs"},
		"no site":            {sources{"dist/index.js": "", "plugin.json": `{"main": "dist/index.js"}`}, ""},
		"not there":          {sources{"plugin.json": `{"main": "dist/site.js"}`}, ""},
		"not named":          {sources{"dist/site.js": "", "plugin.json": `{"Main": "dist/site.js"}`}, ""},
		"outside":            {sources{"../site.js": "", "plugin.json": `{"main": "../site.js"}`}, ""},
		"no text":            {sources{"dist/site.js": "", "plugin.json": `{"main": ["dist/site.js"]}`}, ""},
		"no JSON":            {sources{"dist/site.js": "", "plugin.json": `{"main": "dist/site.js"`}, ""},
	} {
		if got := SiteOf(test.files, test.files["plugin.json"]); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// No public plugin.json has a main that is meant for pages.
func TestPublicMains(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../upstream/testdata/plugin_json/*.json")
	if err != nil || len(paths) < 9 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if main := Main(string(text)); main != "" && main != "index.js" {
			t.Errorf("%s: main is %q", path, main)
		}
	}
}

func FuzzMain(f *testing.F) {
	f.Add(`{"main": "dist/site.js"}`)
	f.Add(`{"main": "../../etc/passwd"}`)
	f.Add(`{"main": "/site.js"}`)
	f.Add(`{"main": ".."}`)
	f.Fuzz(func(t *testing.T, manifest string) {
		main := Main(manifest)
		if strings.HasPrefix(main, "/") || strings.HasPrefix(main, "../") || main == ".." {
			t.Errorf("main is %q", main)
		}
	})
}

// A bundler's output is compiled like code written by hand.
func TestMainBundle(t *testing.T) {
	t.Parallel()
	got := mustCompile(t, sources{
		"plugin.json":     `{"name": "Built", "main": "dist/site.js"}`,
		"dist/site.js":    `import{a}from"./chunk-X.js";export{a as inject};if(process.env.NODE_ENV!=="production")console.log(1);`,
		"dist/chunk-X.js": `export const a=()=>import("./lazy.js");`,
		"dist/lazy.js":    `export const b="lazy";`,
	})
	if got.Bundle == nil || !got.Bundle.Inject || got.Site != "dist/site.js" || got.Files[2] != (File{Name: "dist/site.js", Status: Transpiled}) {
		t.Fatalf("got %+v", got)
	}
	if js := string(got.Bundle.JS); !strings.Contains(js, `"lazy"`) || strings.Contains(js, ".js") || strings.Contains(js, "process") {
		t.Errorf("bundle is %s", js)
	}
}

func TestInject(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]bool{
		"export function inject() {}":                     true,
		"export const inject = () => {}":                  true,
		"import { a } from './a'\nexport { a as inject }": true,
		"export * from './a'":                             true,
		"export { inject } from './a'":                    true,
		"export { inject } from './b'":                    false, // has no inject
		"import { inject } from './b'\nexport { inject }": false,
		"export { inject } from './c'":                    false, // a type
		"export default { inject() {} }":                  false,
		"function inject() {}\ninject()":                  false,
		"":                                                false,
	} {
		got := mustCompile(t, sources{
			"site.ts": site, "a.ts": "export const a = 1, inject = 2", "b.ts": "export function injekt() {}", "c.ts": "export type inject = string",
		})
		if got.Bundle == nil || got.Bundle.Inject != want {
			t.Errorf("%q: got %+v, want %v", site, got, want)
		}
	}
}

// A nameless import adds a stylesheet to the page in every form; an import that expects a CSSStyleSheet causes a warning.
func TestStylesheetsWithAttributes(t *testing.T) {
	t.Parallel()
	for site, warning := range map[string]string{
		`import "./a.css" with { type: "css" }`:                                 "",
		`import "./a.css" with {` + "\n" + `type: "css" }`:                      "",
		`import {} from "./a.css"`:                                              "",
		`import {} from "./a.css" with { type: "css" }`:                         "",
		`export * from './a.css' with { type: "css" }`:                          "",
		`import a from "./a.css" with { type: "css" }` + "\nexport const b = a": `1:15: This gives the text of the stylesheet, not a CSSStyleSheet; write import name from "./a.css".`,
	} {
		got := mustCompile(t, sources{"site.js": site, "a.css": "i { color: green }"})
		if got.Bundle == nil || strings.Contains(string(got.Bundle.JS), "createElement") != (warning == "") || got.Files[1].Warning != warning || got.Files[0].Warning != "" {
			t.Errorf("%q: %+v", site, got)
		}
	}
}

// Pages do not get CommonJS exports, whatever the resulting ES module exports. Other programs do.
func TestCommonJS(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]bool{
		"module.exports = { inject() {} }": true,
		"exports.inject = () => {}":        true,
		"const a = require('./a')\nObject.defineProperty(exports, 'inject', { value: a })": true,
		"export { inject } from './a'":                        false,
		"import a from './a'\nexport const inject = a.inject": false,
		"(() => { document.title = 'exports' })()":            false,
	} {
		got := mustCompile(t, sources{"dist/site.js": site, "dist/a.js": "exports.inject = () => {}", "index.ts": "module.exports = {}", "plugin.json": `{"main": "dist/site.js"}`})
		if other := got.Files[2]; other.Name != "index.ts" || other.Warning != "" {
			t.Errorf("%q: %+v", site, other)
		}
		if warning := got.Files[1].Warning; got.Bundle == nil || want && got.Bundle.Inject || want != strings.HasPrefix(warning, "Pages cannot see") || !want && warning != "" {
			t.Errorf("%q: %+v, %+v", site, got.Files, got.Bundle)
		}
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	png := "\x89PNG\r\n\x1a\n\x00\xff"
	got := mustCompile(t, sources{
		"site.ts": "import svg from './a.svg'\nimport png from './b.png'\nimport font from './c.woff2'\n" +
			"import jpg from './d.jpg'\nimport gif from './d.gif'\nimport webp from './d.webp'\nexport const all = [svg, png, font, jpg, gif, webp]",
		"a.svg":    `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		"b.png":    png,
		"c.woff2":  "wOF2\x00",
		"d.jpg":    "JFIF",
		"d.gif":    "GIF89a",
		"d.webp":   "RIFF",
		"d.png":    "unused",
		"e/f.webp": "unused",
	})
	if got.Bundle == nil {
		t.Fatalf("no bundle: %+v", got.Files)
	}
	for _, want := range []string{`data:image/svg+xml,<svg xmlns=`, `"data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte(png)) + `"`, `"data:font/woff2,wOF2%00"`, `"data:image/jpeg,JFIF"`, `"data:image/gif,GIF89a"`, `"data:image/webp,RIFF"`} {
		if !strings.Contains(string(got.Bundle.JS), want) {
			t.Errorf("no %s in %s", want, got.Bundle.JS)
		}
	}
}

// The extension of a file tells whether its code has types and JSX.
func TestExtensionsOfCode(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.ts": "export const a: number = 1", "a.mts": "export const a: number = 1", "a.cts": "export const a: number = 1", "a.tsx": "export const a: object = <b/>",
		"a.js": "export const a = 1", "a.mjs": "export const a = 1", "a.cjs": "exports.a = 1", "a.jsx": "export const a = <b/>",
	} {
		if got := mustCompile(t, sources{"site.js": "export { a } from './" + name + "'", name: text}); got.Bundle == nil || strings.Contains(string(got.Bundle.JS), text) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A Git LFS pointer is not a picture, wherever it is imported.
func TestPointers(t *testing.T) {
	t.Parallel()
	const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	for _, site := range []string{
		"import logo from './logo.png'\nexport const inject = () => logo", "import './a.css'", "import css from './a.css'\nexport const inject = () => css",
	} {
		got := mustCompile(t, sources{"site.ts": site, "a.css": "p { background: url(logo.png) }", "logo.png": lfs, "unused.png": lfs})
		for _, f := range got.Files {
			if want := f.Name == "logo.png" || f.Name == "site.ts"; want != strings.Contains(f.Error, "pointer of Git LFS") || f.Name == "site.ts" && !strings.Contains(f.Error, "logo.png") {
				t.Errorf("%q: %+v", site, f)
			}
		}
		if got.Bundle != nil {
			t.Errorf("%q: a bundle of it: %s", site, got.Bundle.JS)
		}
	}
}

func TestStylesheets(t *testing.T) {
	t.Parallel()
	files := sources{
		"site.ts":     "import './a.css'\nimport text from './b.css'\nimport './src/more'\nexport const all = text",
		"a.css":       "@import './base.css';\np { background: url(logo.svg); mask: url('https://x.example/m.png'); src: url(logo.svg?v=1) }",
		"b.css":       "b { color: blue }",
		"base.css":    "i { color: green }",
		"logo.svg":    "<svg/>",
		"src/more.ts": `import"../c.css"`,
		"c.css":       "</style> \u2028 {}",
	}
	got := mustCompile(t, files)
	if got.Bundle == nil {
		t.Fatalf("no bundle: %+v", got.Files)
	}
	js := string(got.Bundle.JS)
	for want, times := range map[string]int{
		`createElement("style")`: 2, "i{color:green}": 1, "url(data:image/svg+xml,": 2, "url(https://x.example/m.png)": 1, `"b { color: blue }"`: 1, "import.meta.url": 4,
	} {
		if n := strings.Count(js, want); n != times {
			t.Errorf("%d times %s in %s", n, want, js)
		}
	}
	for _, f := range got.Files {
		if (f.Name == "c.css") != (f.Warning != "") {
			t.Errorf("%s: warning %q", f.Name, f.Warning)
		}
	}

	got = mustCompile(t, sources{
		"site.ts": "// the styles come from './a.css'\nimport \"./a.css\"; import both from './a.css'\n/*\nimport './b.css'\n*/ import text from './b.css'\nexport const all = [both, text]",
		"a.css":   "i { color: green }", "b.css": "b { color: blue }",
	})
	js = string(got.Bundle.JS)
	for want, times := range map[string]int{`createElement("style")`: 1, "i{color:green}": 1, `"i { color: green }"`: 1, `"b { color: blue }"`: 1} {
		if n := strings.Count(js, want); n != times {
			t.Errorf("%d times %s in %s", n, want, js)
		}
	}

	got = mustCompile(t, sources{"site.ts": "export * from './a.css'\nexport const x = 1", "a.css": "i { color: green }"})
	if js := string(got.Bundle.JS); !strings.Contains(js, "i{color:green}") {
		t.Errorf("the styles are not in %s", js)
	}

	delete(files, "base.css")
	wantFiles(t, sources{"site.ts": "import './a.css'", "a.css": "\n@import './base.css';"},
		blame("a.css", `"./base.css" is not one of the app's files`, 2, 9),
		blame("site.ts", `a.css:2:9: "./base.css" is not one of the app's files`, 0, 0))
}

// A url in CSS that leads out of the app, or within the page, stays as it is.
func TestURLsThatStay(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://x.example/m.svg", "//x.example/m.svg", "/m.svg", "#m", "blob:/m.svg", "data:image/svg+xml,m", "http://[x/m.svg"} {
		css := "p{mask:url(" + url + ")}"
		if got := mustCompile(t, sources{"site.ts": "import './a.css'", "a.css": css, "m.svg": "<svg/>"}); got.Bundle == nil || !strings.Contains(string(got.Bundle.JS), css) {
			t.Errorf("%s: %+v", url, got)
		}
	}
}

// The compiler may spell the name of a file differently than its importer.
func TestNamelessImports(t *testing.T) {
	t.Parallel()
	got := mustCompile(t, sources{
		"site.ts":   "import './größe.css'\nimport './☎\ufe0f.css'\nexport * from './a\"b.css'\nimport './c\\'\"d.css'\nimport './e\\u2028f.css'\nimport './größe.svg'\nexport const x = 1",
		"größe.css": "i { color: green }", "☎\ufe0f.css": "b { color: blue }", `a"b.css`: "p { color: red }",
		`c'"d.css`: "a { color: red }", "e\u2028f.css": "q { color: red }", "größe.svg": "<svg/>",
	})
	if js := string(got.Bundle.JS); strings.Count(js, `createElement("style")`) != 5 {
		t.Errorf("not each stylesheet is in %s", js)
	}
	for _, f := range got.Files {
		if (f.Name == "site.ts") != (f.Warning != "") {
			t.Errorf("%s: warning %q", f.Name, f.Warning)
		}
	}
}

// Each reference in a stylesheet's text to a file that pages cannot find causes a warning.
func TestStylesheetText(t *testing.T) {
	t.Parallel()
	files := sources{
		"site.ts":  "import css from './look.css'\nexport const inject = () => css",
		"look.css": "@import './base.css';\n@import 'https://x.example/more.css';\nb { background: url(./logo.svg) }",
		"base.css": "i { color: green }",
		"logo.svg": "<svg/>",
	}
	got := mustCompile(t, files)
	if got.Bundle == nil {
		t.Fatalf("no bundle: %+v", got.Files)
	}
	for want, times := range map[string]int{"i{color:green}": 1, "url(data:image/svg+xml,": 1, "https://x.example/more.css": 1, "base.css": 0, "logo.svg": 0, "createElement": 0} {
		if n := strings.Count(string(got.Bundle.JS), want); n != times {
			t.Errorf("%d times %s in %s", n, want, got.Bundle.JS)
		}
	}
	for _, f := range got.Files {
		if f.Warning != "" {
			t.Errorf("%s: warning %q", f.Name, f.Warning)
		}
	}

	const template = "b { color: {{color}} } /* {{size */"
	files["look.css"] = template
	delete(files, "base.css")
	got = mustCompile(t, files)
	if got.Bundle == nil || !strings.Contains(string(got.Bundle.JS), template) || got.Files[1].Warning != "" {
		t.Errorf("a template: %+v", got)
	}

	got = mustCompile(t, sources{"site.ts": files["site.ts"], "look.css": "@import './base.css';\nb { color }", "base.css": ""})
	if want := `2:10: Expected ":"`; got.Bundle == nil || got.Files[1].Warning != want {
		t.Errorf("no template, since it is compiled with its imports: %+v, want %s", got, want)
	}

	for _, url := range []string{"./gone.png", "{{logo}}", "${logo}", "__LOGO__", "logo.png?v=1#a"} {
		spec, _, _ := strings.Cut("./"+strings.TrimPrefix(url, "./"), "?")
		warning := fmt.Sprintf("2:17: %q is not one of the app's files: it stays as it is.", spec)
		for start, kept := range map[string]string{"/* as written */": "/* as written */", "@import './more.css';": "i{color:green}"} {
			files["look.css"], files["more.css"] = start+"\nb { background: url("+url+") }", "i { color: green }"
			got := mustCompile(t, files)
			if got.Bundle == nil || !strings.Contains(string(got.Bundle.JS), url) || !strings.Contains(string(got.Bundle.JS), kept) || got.Files[1].Warning != warning {
				t.Errorf("%s: %+v, want %s", url, got, warning)
			}
		}
	}
	files["look.css"] = "@import url({{font}});"
	if got := mustCompile(t, files); got.Bundle == nil || !strings.Contains(string(got.Bundle.JS), files["look.css"]) {
		t.Errorf("a placeholder to import: %+v", got)
	}
}

// Each file shows its first warning.
func TestWarnings(t *testing.T) {
	t.Parallel()
	got := mustCompile(t, sources{
		"site.css":     "b { color: blue }", // bundlers write such a file
		"site.ts":      "import './a.svg'\nimport './b'\nimport './later'\nimport './d.css'\nexport * from './view'\nexport const x = 1",
		"d.css":        "p { src: url(f.woff2#iefix); background: url(a.svg#icon) }",
		"f.woff2":      "wOF2",
		"later.ts":     "export const inject = () => import('./c.css')",
		"c.css":        "i { color: green }",
		"b.ts":         "if (typeof x === 'strin') console.log(1)\nif (typeof x === 'numbr') console.log(2)\nvar x",
		"a.svg":        "<svg/>",
		"index.ts":     "export const y = -0 in {}",
		"view.tsx":     "import css from './e.module.css'\nexport const view = () => <p className={css.big} />",
		"e.module.css": ".big { color: red }",
	})
	if got.Bundle == nil {
		t.Fatalf("no bundle: %+v", got.Files)
	}
	want := map[string]string{
		"site.ts":  `1:8: Importing "./a.svg" without a name does nothing; write import name from "./a.svg".`,
		"b.ts":     `1:18: The "typeof" operator will never evaluate to "strin"`,
		"d.css":    `1:42: The whole of "./a.svg" is built in, without #icon.`,
		"later.ts": `1:36: This gives the text of the stylesheet; write import "./c.css" to put it into the page.`,
		"view.tsx": `1:17: This gives the text of the stylesheet, not the names of its classes; write import "./e.module.css" to put it into the page, and the names as they are.`,
		"site.css": `No page gets it: site.ts does not import it, nor does a file that it imports.`,
	}
	for _, f := range got.Files {
		if f.Warning != want[f.Name] {
			t.Errorf("%s: warning %q, want %q", f.Name, f.Warning, want[f.Name])
		}
	}
}

// What is in a source file may be part of a bundler's output; a stylesheet, picture or font beside the output is not.
func TestUnusedOfABuild(t *testing.T) {
	t.Parallel()
	got := mustCompile(t, sources{
		"plugin.json":  `{"main": "dist/site.js"}`,
		"dist/site.js": "import a from './a.png'\nimport './b.css'\nexport const b = a + '/assets/c.png'",
		"dist/a.png":   "", "dist/b.css": "p { background: url(d.svg) }", "dist/d.svg": "", "dist/data.json": "{}",
		"dist/site.css": "", "dist/css/a.css": "", "dist/assets/c.png": "", "dist/assets/f.woff2": "",
		"src/look.css": "", "src/c.png": "", "dist.css": "", "icon.png": "",
	})
	for _, f := range got.Files {
		unused := slices.Contains([]string{"dist/site.css", "dist/css/a.css", "dist/assets/c.png", "dist/assets/f.woff2"}, f.Name)
		if unused != strings.HasPrefix(f.Warning, "No page gets it: ") || !unused && f.Warning != "" {
			t.Errorf("%s: warning %q", f.Name, f.Warning)
		}
	}
}

// Bundlers write a picture or a worker beside the script, and refer to it relative to the script's url.
func TestBeside(t *testing.T) {
	t.Parallel()
	const warning = "Pages may look for %q beside the bundle, but it is not there: import it, or let the bundler put it into the script."
	const unused = "No page gets it: dist/site.js does not import it, nor does a file that it imports."
	got := mustCompile(t, sources{
		"plugin.json":             `{"main": "dist/site.js"}`,
		"dist/site.js":            "import './a.js'\nimport './b.js'\nimport './none.js'\nimport './c/c.js'\nconst é='é',a=\"\"+new URL(`assets/logo-Dx.png`,import.meta.url).href;export{a as inject};",
		"dist/a.js":               "export const w = () =>\n\tnew Worker(new URL(\n'./w.js', import.meta.url))",
		"dist/b.js":               "new URL(/* @vite-ignore */ 'logo.png?v=1#a', import.meta.url)",
		"dist/c/c.js":             "new Worker(new URL(\n\t/* @vite-ignore */\n\t\"/w.js\",\n\t\"\" + import.meta.url\n), { type: \"module\" })",
		"dist/none.js":            "new URL('/a/logo.png', import.meta.url), new URL('.', import.meta.url), new URL('logo.png', location.href), new URL('/', import.meta.url)",
		"dist/w.js":               "",
		"dist/logo.png":           "",
		"dist/unused.js":          "new URL('./logo.png', import.meta.url)",
		"dist/assets/logo-Dx.png": "",
	})
	if got.Bundle == nil {
		t.Fatalf("no bundle: %+v", got.Files)
	}
	want := map[string]string{
		"dist/site.js": "5:27: " + fmt.Sprintf(warning, "assets/logo-Dx.png"),
		"dist/a.js":    "3:2: " + fmt.Sprintf(warning, "./w.js"),
		"dist/b.js":    "1:29: " + fmt.Sprintf(warning, "logo.png"),
		"dist/c/c.js":  "3:3: " + fmt.Sprintf(warning, "/w.js"),

		"dist/logo.png":           unused,
		"dist/assets/logo-Dx.png": unused,
	}
	for _, f := range got.Files {
		if f.Warning != want[f.Name] {
			t.Errorf("%s: warning %q, want %q", f.Name, f.Warning, want[f.Name])
		}
	}
}

// A large file imports many pictures: it was once compiled again for each one, which took longer than a child may.
func TestManyPictures(t *testing.T) {
	t.Parallel()
	files := sources{}
	var site strings.Builder
	for i := range 500 {
		name := fmt.Sprintf("a%d.svg", i)
		files[name] = "<svg/>"
		fmt.Fprintf(&site, "import a%d from './%s'\nconsole.log(a%[1]d)\n", i, name)
	}
	for i := 0; site.Len() < 300<<10; i++ {
		fmt.Fprintf(&site, "export function f%d(a, b) { return [a, b, %[1]d].map((x) => x + 1) }\n", i)
	}
	files["site.ts"] = site.String()
	if got := mustCompile(t, files); got.Bundle == nil {
		t.Errorf("no bundle: %+v", got.Files[len(got.Files)-1])
	}
}

// A main that makes no bundle causes a warning.
func TestIdleMains(t *testing.T) {
	t.Parallel()
	const only = `, which makes no bundle: only a file named site.ts, site.tsx, site.js, site.jsx, site.mjs does, such as dist/site.js.`
	for manifest, want := range map[string]string{
		`{}`:                         "",
		`not JSON`:                   "",
		`{"main": null}`:             "",
		`{"main": ""}`:               "",
		`{"main": 7}`:                `"main" is not the path of a file of the app.`,
		`{"main": "../a"}`:           `"main" is not the path of a file of the app.`,
		`{"main": "lib.md"}`:         `"main" names "lib.md"` + only,
		`{"main": "gone/app.js"}`:    `"main" names "gone/app.js"` + only,
		`{"main": "./dist/site.js"}`: `"main" names "dist/site.js", which is not one of the app's files.`,
		`{"main": "` + strings.Repeat("x", 1000) + "\\u0000" + `"}`: `"main" names "` + strings.Repeat("x", 200) + `"` + only,
	} {
		if got := mustCompile(t, sources{"plugin.json": manifest, "lib.md": ""}); got.Bundle != nil || got.Files[1].Warning != want {
			t.Errorf("%.100s: %+v, want %q", manifest, got.Files, want)
		}
	}
	for main, want := range map[string]string{
		"site.ts":      "",
		"index.ts":     "", // for another program
		"dist/site.js": `"main" names "dist/site.js", but the bundle is made of site.ts: that comes first.`,
	} {
		got := mustCompile(t, sources{"plugin.json": `{"main": "` + main + `"}`, "site.ts": "export const a = 1", "dist/site.js": ""})
		if got.Bundle == nil || got.Files[1].Warning != want {
			t.Errorf("%s: %+v, want %q", main, got.Files, want)
		}
	}
}

func TestTopLevelAwait(t *testing.T) {
	t.Parallel()
	wantFiles(t, sources{"site.ts": "await fetch('/')\nexport {}"},
		blame("site.ts", "Top-level await cannot be used: do slow work in inject, which can be an async function.", 1, 1))
}
