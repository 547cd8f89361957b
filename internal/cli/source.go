package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/terminal"
	"foyer/internal/domain/source"
)

var sourceFiles = terminal.View[client.SourceFile]{
	Columns: "FILE STATUS SIZE LINE COLUMN ERROR WARNING",
	More:    "SHA256",
	Row: func(f client.SourceFile) []any {
		var line, column any = "", ""
		if f.Line > 0 {
			line, column = f.Line, f.Column
		}
		return []any{f.Filename, f.Status, f.Size, line, column, f.Error, f.Warning, f.SHA256}
	},
}

type appSource struct {
	anApp
	File string `arg:"" optional:"" help:"Write this file to standard output instead, as it is, except for control sequences that a terminal would obey."`
}

func (c appSource) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	source, err := c.read(ctx, o)
	if err != nil {
		return err
	}
	if c.File == "" {
		if out.Format == terminal.JSON {
			return out.Say(source, "")
		}
		return sourceFiles.All(out, source.SourceFiles)
	}
	text, ok := source.Source[c.File]
	if !ok {
		return fault.New(fault.NotFound, "App %s has no file %s.", c.App, c.File)
	}
	_, err = io.WriteString(out, out.Code(text))
	return err
}

func (a anApp) read(ctx context.Context, o *client.Organization) (client.AppSource, error) {
	id, err := appID(ctx, o, a.App)
	if err != nil {
		return client.AppSource{}, err
	}
	source, err := o.GetSource(ctx, id)
	return source, orMissing(err, "app", a.App)
}

type appPull struct {
	Dir string `arg:"" help:"The folder; it is made if there is none."`
	App string `required:"" placeholder:"ID" help:"The app, by id or name."`
}

// Run writes the files of an app into a folder. Other files there stay.
func (c appPull) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input, to terminal.Log) error {
	app, err := anApp{c.App}.read(ctx, o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Dir) // no name of a file leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	has := len(app.Source)
	for _, name := range slices.Sorted(maps.Keys(app.Source)) {
		switch {
		case isHidden(name):
			fmt.Fprintf(to, "foyer: note: left out %s: programs may run what is in hidden files and node_modules, also by a short name\n", terminal.Printable(name))
		case !source.Takes(name, ""):
			fmt.Fprintf(to, "foyer: note: left out %s: an app's file cannot have this name\n", terminal.Printable(name))
		default:
			continue
		}
		delete(app.Source, name)
	}
	names, err := changed(root, app.Source, in)
	if err != nil {
		return err
	}
	for _, name := range names {
		file := filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(file, []byte(app.Source[name]), 0o644); err != nil {
			return err
		}
	}
	return out.Say(map[string]any{"id": app.ID, "written": names}, "Wrote %d of the %s of app %d into %s.", len(names), terminal.Count(has, "file"), app.ID, c.Dir)
}

// shortName matches the other name that Windows gives to a file with a long name, or one with a dot first: GIT~1.
var shortName = regexp.MustCompile(`^[^.]{1,6}~[0-9]+(\.[^.]{1,3})?$`)

// isHidden reports whether a file, or a folder above it, has a name that begins with a dot or is node_modules, in any
// case, since some disks ignore it, or may be the short name of one. The author of an app could run a program through its
// .git/config or .envrc.
func isHidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || strings.EqualFold(part, "node_modules") || shortName.MatchString(part)
	})
}

// changed lists the files that are missing or different in the folder, and asks before it replaces some.
func changed(root *os.Root, files client.Files, in terminal.Input) ([]string, error) {
	names, replaced := []string{}, 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		there, err := isThere(root, name)
		if err != nil {
			return nil, err
		}
		if !there {
			names = append(names, name)
			continue
		}
		content, err := root.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		if string(content) != files[name] {
			names = append(names, name)
			replaced++
		}
	}
	if replaced == 0 {
		return names, nil
	}
	return names, in.Confirm("Overwrite %s with other contents?", terminal.Count(replaced, "file"))
}

// isThere reports whether the folder has a file. It refuses links, also in place of a folder: writing through one would
// change another file.
func isThere(root *os.Root, name string) (bool, error) {
	for at, c := range name + "/" {
		if c != '/' {
			continue
		}
		info, err := root.Lstat(filepath.FromSlash(name[:at]))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		case at < len(name) && !info.IsDir():
			return false, fmt.Errorf("%s is in the way, and is not a folder: nothing is written", terminal.Printable(name[:at]))
		case at == len(name) && !info.Mode().IsRegular():
			return false, fmt.Errorf("%s is in the way, and is not a file: nothing is written", terminal.Printable(name))
		}
	}
	return true, nil
}
