package bundle

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// TaskName is the name under which a program's tasks hold Work.
const TaskName = "compile"

// request is what a child is asked to compile.
type request struct {
	order
	Files map[string]string
}

// order opens a request on its way to the child; a source for each file follows,
// one by one, so that the parent never holds a second copy of a whole app. They
// travel as gob, in which hostile text does not grow.
type order struct {
	Entry  string
	Bundle bool // follow imports; else compile the entry alone
}

type source struct{ Name, Text string }

// answer is what the child says: JS, or one error per file.
type answer struct {
	JS     []byte
	Errors []File
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

// compile runs esbuild, which sees only req.Files. JSX becomes calls of the global
// React.createElement, or of what a file's @jsx comment names: the way that
// imports nothing.
func (req request) compile() answer {
	built := api.Build(api.BuildOptions{
		EntryPoints:       []string{req.Entry},
		Bundle:            req.Bundle,
		Format:            api.FormatESModule,
		Platform:          api.PlatformBrowser,
		Target:            api.ES2017,
		Charset:           api.CharsetUTF8, // modules always are
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LogLevel:          api.LogLevelSilent,
		AbsWorkingDir:     "/",
		TsconfigRaw:       "{}",
		Plugins:           []api.Plugin{{Name: "app", Setup: req.serve}},
	})
	if len(built.Errors) > 0 {
		return answer{Errors: req.blame(built.Errors)}
	}
	return answer{JS: built.OutputFiles[0].Contents}
}

// namespace keeps the app's files apart from the disk's.
const namespace = "app"

// serve answers every question that esbuild would ask the disk. Loading is refused
// outside the namespace, because a pattern such as import(`./${name}`) is looked
// up without asking for a resolution.
func (req request) serve(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		if args.Kind == api.ResolveEntryPoint {
			return api.OnResolveResult{Path: req.Entry, Namespace: namespace}, nil
		}
		name, err := resolve(req.Files, args.Importer, args.Path)
		return api.OnResolveResult{Path: name, Namespace: namespace}, err
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		text, ok := req.Files[args.Path]
		if args.Namespace != namespace || !ok {
			return api.OnLoadResult{}, errors.New("an app imports only its own files")
		}
		return api.OnLoadResult{Contents: &text, Loader: loader(args.Path)}, nil
	})
}

// loader says what a file is by its name; what is not code is imported as text.
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
	default:
		return api.LoaderText
	}
}

// blame returns the first error of each file that has one, and of the entry in any
// case: if it is not to blame itself, its error says which file is.
func (req request) blame(messages []api.Message) []File {
	blamed := make(map[string]File)
	for _, m := range slices.Backward(messages) {
		if m.Location == nil {
			continue
		}
		f := failed(strings.TrimPrefix(m.Location.File, namespace+":"), plain(m.Text))
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

// column is where l points to, in characters from 1; esbuild counts bytes from 0.
func column(l *api.Location) int {
	return utf8.RuneCountInString(l.LineText[:min(l.Column, len(l.LineText))]) + 1
}

// plain is an error's text, shortened and without our namespace.
func plain(text string) string {
	const maxChars = 500
	text = strings.ReplaceAll(text, `"`+namespace+":", `"`)
	if runes := []rune(text); len(runes) > maxChars {
		text = string(runes[:maxChars]) + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
