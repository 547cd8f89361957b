package bundle

import (
	"cmp"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	neturl "net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// TaskName is the name of Work among a program's tasks.
const TaskName = "compile"

// request is what a child has to compile.
type request struct {
	order
	Files    map[string]string
	imported *sync.Map // names of imported files, in the child
	nameless *sync.Map // what namelessImports returns, by the name of the importer, in the child
	text     bool      // whether to make the text of a stylesheet: an unknown file stays in it as written, since its name may be a placeholder
}

// order is the first part of a request to the child; the sources follow one by one, so that the parent never holds a
// second copy of a whole app. Both are sent as gob, because hostile text does not grow in it.
type order struct {
	Entry  string
	Bundle bool // follow imports; else compile only the entry
}

type source struct{ Name, Text string }

// answer is the child's result: JS, or one error for each file; and warnings by file.
type answer struct {
	JS       []byte
	Inject   bool
	Errors   []File
	Warnings map[string]string
}

// Work is the sandbox.Task that compiles one entry.
func Work(in io.Reader, out io.Writer) error {
	req, err := receive(in)
	if err != nil {
		return fmt.Errorf("receive the sources: %w", err)
	}
	return gob.NewEncoder(out).Encode(req.compile())
}

func (req request) send(w io.Writer) error {
	to := gob.NewEncoder(w)
	if err := to.Encode(req.order); err != nil {
		return err
	}
	for name, text := range req.Files {
		if err := to.Encode(source{name, text}); err != nil {
			return err
		}
	}
	return nil
}

func receive(r io.Reader) (request, error) {
	from := gob.NewDecoder(r)
	req := request{Files: make(map[string]string)}
	if err := from.Decode(&req.order); err != nil {
		return request{}, err
	}
	for {
		var s source
		switch err := from.Decode(&s); {
		case errors.Is(err, io.EOF):
			return req, nil
		case err != nil:
			return request{}, err
		}
		req.Files[s.Name] = s.Text
	}
}

// compile runs esbuild, which sees only req.Files. JSX becomes calls of the global React.createElement, or of the
// function that a file's @jsx comment names: this way needs no import.
func (req request) compile() answer {
	req.imported, req.nameless = new(sync.Map), new(sync.Map)
	built := api.Build(req.options(req.Entry, api.LoaderText))
	if len(built.Errors) > 0 {
		return answer{Errors: req.blame(built.Errors)}
	}
	warnings := req.warnings(built.Warnings)
	meta := readMetafile(built.Metafile)
	if req.Bundle {
		req.warnOfUnused(warnings)
	}
	if req.Bundle && meta.Inputs[namespace+":"+req.Entry].Format == "cjs" {
		warnings[req.Entry] = "Pages cannot see what CommonJS exports: write export function inject, or let the bundler make an ES module, as with --format=esm."
	}
	js := built.OutputFiles[0].Contents
	return answer{JS: js, Inject: meta.exports("inject") && exports(js, "inject"), Warnings: warnings}
}

// exports reports whether a JavaScript module exports a name. For TypeScript, the compiler also lists exports that the
// other files lack: they may be types, which are not in the output.
func exports(js []byte, name string) bool {
	read := api.Build(api.BuildOptions{
		Stdin:         &api.StdinOptions{Contents: string(js), Loader: api.LoaderJS},
		Format:        api.FormatESModule,
		Metafile:      true,
		LogLevel:      api.LogLevelSilent,
		AbsWorkingDir: "/",
		TsconfigRaw:   "{}",
	})
	return readMetafile(read.Metafile).exports(name)
}

// options returns the options of a build that reads stylesheets with the loader css.
func (req request) options(entry string, css api.Loader) api.BuildOptions {
	return api.BuildOptions{
		EntryPoints:       []string{entry},
		Bundle:            req.Bundle,
		Format:            api.FormatESModule,
		Platform:          api.PlatformBrowser,
		Target:            api.ES2017,
		Supported:         map[string]bool{"import-meta": true}, // wherever there is import(), which the loader needs
		Charset:           api.CharsetUTF8,                      // modules always are
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		Metafile:          true,
		LogLevel:          api.LogLevelSilent,
		AbsWorkingDir:     "/",
		TsconfigRaw:       "{}",
		Plugins:           []api.Plugin{{Name: "app", Setup: req.serve(css)}},
	}
}

// metafile is the compiler's description of a build.
type metafile struct {
	Inputs  map[string]struct{ Format string }
	Outputs map[string]struct{ Exports []string }
}

func readMetafile(text string) (meta metafile) {
	_ = json.Unmarshal([]byte(text), &meta) //nolint:musttag // the compiler's own, whose names are matched in any case
	return meta
}

// exports reports whether the output of a build exports a name.
func (m metafile) exports(name string) bool {
	for _, output := range m.Outputs {
		if slices.Contains(output.Exports, name) {
			return true
		}
	}
	return false
}

// Two namespaces keep the app's files apart from the disk's. A file in styles is a stylesheet that adds itself to the
// page.
const (
	namespace = "app"
	styles    = "style"
)

// pointer is the beginning of the text that Git has in place of a file kept by Git LFS.
const pointer = "version https://git-lfs.github.com/spec/v1\n"

// serve answers every question that esbuild would ask the disk. It refuses to load outside the namespaces, because
// esbuild looks up a pattern such as import(`./${name}`) without a call to resolve it.
func (req request) serve(css api.Loader) func(api.PluginBuild) {
	return func(build api.PluginBuild) {
		build.OnResolve(api.OnResolveOptions{Filter: ".*"}, req.resolve)
		build.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			content, ok := req.Files[args.Path]
			switch {
			case !ok || args.Namespace != namespace && args.Namespace != styles:
				return api.OnLoadResult{}, errors.New("an app imports only its own files")
			case strings.HasPrefix(content, pointer):
				return api.OnLoadResult{Errors: []api.Message{{
					Text: "This is a pointer of Git LFS, not the file: commit the file itself.", Location: &api.Location{File: namespace + ":" + args.Path, Line: 1},
				}}}, nil
			case isCode(args.Path):
				return api.OnLoadResult{Contents: &content, Loader: loader(args.Path), Warnings: req.warnOfBeside(args.Path)}, nil
			case path.Ext(args.Path) != ".css":
				return api.OnLoadResult{Contents: &content, Loader: loader(args.Path)}, nil
			case css == api.LoaderText:
				return req.style(args.Path, args.Namespace == styles), nil
			}
			return api.OnLoadResult{Contents: &content, Loader: css}, nil
		})
	}
}

func (req request) resolve(args api.OnResolveArgs) (api.OnResolveResult, error) {
	if args.Kind == api.ResolveEntryPoint {
		return api.OnResolveResult{Path: args.Path, Namespace: namespace}, nil
	}
	inCSS := args.Kind == api.ResolveCSSImportRule || args.Kind == api.ResolveCSSURLToken
	spec, part := args.Path, ""
	if inCSS {
		if isExternal(spec) {
			return api.OnResolveResult{Path: spec, External: true}, nil
		}
		spec, part = inStyle(spec)
	}
	name, err := resolve(req.Files, args.Importer, spec)
	if err != nil && req.text {
		kept := api.Message{Text: err.Error() + ": it stays as it is."}
		return api.OnResolveResult{Path: args.Path, External: true, Warnings: []api.Message{kept}}, nil
	}
	found := api.OnResolveResult{Path: name, Namespace: namespace}
	req.imported.Store(name, true)
	if part != "" && path.Ext(name) == ".svg" {
		found.Warnings = []api.Message{{Text: fmt.Sprintf("The whole of %q is built in, without #%s.", spec, part)}}
	}
	if err != nil || inCSS || isCode(name) {
		return found, err
	}
	req.asContent(args, &found)
	return found, nil
}

// asContent decides what importing a file that is not code does.
func (req request) asContent(args api.OnResolveArgs, found *api.OnResolveResult) {
	spec, isStylesheet := args.Path, path.Ext(found.Path) == ".css"
	switch {
	case args.Kind != api.ResolveJSImportStatement:
		if isStylesheet {
			found.Warnings = []api.Message{{Text: fmt.Sprintf("This gives the text of the stylesheet; write import %q to put it into the page.", spec)}}
		}
	case !req.namesNothing(args.Importer, spec):
		if strings.HasSuffix(found.Path, ".module.css") {
			found.Warnings = []api.Message{{Text: fmt.Sprintf("This gives the text of the stylesheet, not the names of its classes; write import %q to put it into the page, and the names as they are.", spec)}}
		} else if isStylesheet && args.With["type"] == "css" {
			found.Warnings = []api.Message{{Text: fmt.Sprintf("This gives the text of the stylesheet, not a CSSStyleSheet; write import name from %q.", spec)}}
		}
	case isStylesheet:
		found.Namespace = styles
	default:
		found.Warnings = []api.Message{{Text: fmt.Sprintf("Importing %q without a name does nothing; write import name from %[1]q.", spec)}}
	}
}

// inStyle returns what a url in CSS imports, and the fragment of the url.
func inStyle(url string) (spec, part string) {
	spec, part, _ = strings.Cut(url, "#")
	spec, _, _ = strings.Cut(spec, "?") // for example font.woff2?v=1
	if !strings.HasPrefix(spec, ".") {
		spec = "./" + spec // as everywhere in CSS
	}
	return spec, part
}

// isExternal reports whether a url in CSS leads out of the app.
func isExternal(url string) bool {
	u, err := neturl.Parse(url)
	return err != nil || u.Scheme != "" || u.Path == "" || strings.HasPrefix(url, "/")
}

// namesNothing reports whether a module imports spec without a name, or with export *: a file that is not code exports no
// names.
func (req request) namesNothing(importer, spec string) bool {
	specs, _ := req.nameless.LoadOrStore(importer, sync.OnceValue(func() map[string]bool { return req.namelessImports(importer) }))
	return specs.(func() map[string]bool)()[spec]
}

var namelessImport = regexp.MustCompile(`(?m)^(?:import|export \* from) (?:\{\s*\} from )?(".*"|'.*')(?: with \{[^}]*\})?;$`)

// namelessImports returns the files that a module imports without a name, or with export *. The compiler does not report
// them, but writes each import in one form, without comments.
func (req request) namelessImports(importer string) map[string]bool {
	made := api.Transform(req.Files[importer], api.TransformOptions{Loader: loader(importer), TsconfigRaw: "{}", Charset: api.CharsetUTF8})
	specs := map[string]bool{}
	for _, found := range namelessImport.FindAllSubmatch(made.Code, -1) {
		specs[unquoted(string(found[1]))] = true
	}
	return specs
}

// unquoted returns the value of a string literal from the compiler; it has the escapes of Go, except for the other
// quotes.
func unquoted(literal string) string {
	if literal[0] == '\'' {
		literal = `"` + strings.NewReplacer(`\'`, `'`, `"`, `\"`).Replace(literal[1:len(literal)-1]) + `"`
	}
	text, _ := strconv.Unquote(literal)
	return text
}

// loader returns the type of a file by its name; a file that is neither code nor a picture or font is imported as text.
func loader(name string) api.Loader {
	switch path.Ext(name) {
	case ".ts", ".mts", ".cts":
		return api.LoaderTS
	case ".tsx":
		return api.LoaderTSX
	case ".js", ".mjs", ".cjs":
		return api.LoaderJS
	case ".jsx":
		return api.LoaderJSX
	case ".json":
		return api.LoaderJSON
	case ".svg", ".png", ".jpg", ".gif", ".webp", ".woff2":
		return api.LoaderDataURL
	default:
		return api.LoaderText
	}
}

// isCode reports whether importing a file can do something by itself.
func isCode(name string) bool {
	return slices.Contains([]api.Loader{api.LoaderTS, api.LoaderTSX, api.LoaderJS, api.LoaderJSX}, loader(name))
}

// blame returns the first error of each file that has one, and always one for the entry: if the entry is not the cause,
// its error names the file that is.
func (req request) blame(messages []api.Message) []File {
	blamed := make(map[string]File)
	for _, m := range slices.Backward(messages) {
		if m.Location == nil {
			continue
		}
		f := failed(fileOf(m.Location), plain(m.Text))
		f.Line, f.Column = m.Location.Line, column(m.Location)
		if _, own := req.Files[f.Name]; own {
			blamed[f.Name] = f
		}
	}
	if len(blamed) == 0 {
		return []File{failed(req.Entry, plain(messages[0].Text))}
	}
	files := slices.SortedFunc(maps.Values(blamed), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	if _, ok := blamed[req.Entry]; !ok {
		first := files[0]
		text := fmt.Sprintf("%s:%d:%d: %s", first.Name, first.Line, first.Column, first.Error)
		files = append(files, failed(req.Entry, text))
	}
	return files
}

// warnings returns the first warning of each file, with its place.
func (req request) warnings(messages []api.Message) map[string]string {
	all := make(map[string]string)
	for _, m := range messages {
		if m.Location == nil {
			continue
		}
		name := fileOf(m.Location)
		if _, own := req.Files[name]; own && all[name] == "" {
			all[name] = fmt.Sprintf("%d:%d: %s", m.Location.Line, column(m.Location), plain(m.Text))
		}
	}
	return all
}

// fileOf returns the name of the app's file that contains l.
func fileOf(l *api.Location) string {
	return strings.TrimPrefix(strings.TrimPrefix(l.File, namespace+":"), styles+":")
}

// column returns the column of l, in characters from 1; esbuild counts bytes from 0.
func column(l *api.Location) int {
	return utf8.RuneCountInString(l.LineText[:min(l.Column, len(l.LineText))]) + 1
}

// plain returns an error's text, shortened and without our namespaces.
func plain(text string) string {
	const maxChars = 500
	text = strings.ReplaceAll(strings.ReplaceAll(text, `"`+namespace+":", `"`), `"`+styles+":", `"`)
	switch {
	case strings.HasPrefix(text, "Top-level await is not available"):
		text = "Top-level await cannot be used: do slow work in inject, which can be an async function."
	case strings.HasPrefix(text, "Could not resolve import("), strings.HasPrefix(text, "Could not resolve require("):
		text = "A path that is computed cannot be imported: write out the path of each file." // the compiler names a pattern of its own
	}
	if runes := []rune(text); len(runes) > maxChars {
		text = string(runes[:maxChars]) + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
