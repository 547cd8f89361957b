package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"foyer/client"
	"foyer/internal/base/patch"
	"foyer/internal/cli/terminal"
	"foyer/internal/domain/source"
)

type appPush struct {
	Dir  string `arg:"" help:"The folder."`
	App  string `placeholder:"ID" help:"The app, by id or name. Without it, that with the name of --name, of plugin.json, or of the folder."`
	Name string `help:"What the app is to be called."`

	Message string `short:"m" placeholder:"TEXT" help:"What the change is for; the version keeps it."`

	dryRun
}

func (appPush) Help() string {
	return `The app then has the files of the folder, and no others. Files and folders whose names begin with a dot, node_modules and short
names of Windows (GIT~1) are left out, and stay in the app as they are. Left out as well are links, source maps, files of more
than 1 MiB, and what is neither UTF-8 text nor a picture (.png, .jpg, .gif, .webp) or font (.woff2). Where that is plugin.json,
or a file that the app has or the folder of one (a source map aside), nothing is sent; nor if more than 400 files, or 10 MiB,
are to be sent. If there is no app of the name, one of type source is made: let that push end before another begins, or both may
make one. A name in plugin.json is the app's, so --name and a new --app must not say another one. What does not compile is
stored as well, and shown as file:line:column; the exit status is 1 then, for pipelines. A site that has no value for a required
field of the new version goes on with the one before: foyer app sites shows that.

Example:

    foyer app push ./banner --app=Banner
`
}

// Validate refuses 0, which is no id.
func (c appPush) Validate() error {
	if c.App == "0" {
		return errors.New("--app: must not be 0")
	}
	return nil
}

// pushed is the result of a push.
type pushed struct {
	client.App
	SourceFiles []client.SourceFile `json:"source_files"`
	Bundle      *client.Bundle      `json:"bundle"`
	files       int
}

func (c appPush) Run(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	read, err := readFolder(c.Dir, to)
	if err != nil {
		return err
	}
	if len(read.files) == 0 {
		return fmt.Errorf("%s has no file that an app can have", c.Dir)
	}
	source, err := c.send(ctx, o, read, to)
	if err != nil {
		return err
	}
	wrong := 0
	if source.SourceFiles != nil { // else nothing was compiled
		wrong = tellCompiled(to, c.Dir, source)
	}
	if err := pushes.One(out, pushed{source.App, source.SourceFiles, source.Bundle, len(read.files)}); err != nil {
		return err
	}
	return notCompiled(wrong, source.Bundle != nil, c.DryRun)
}

var pushes = terminal.View[pushed]{
	Columns: "ID NAME TYPE FILES BUNDLE",
	Row: func(p pushed) []any {
		url := ""
		if p.Bundle != nil {
			url = p.Bundle.URL
		}
		return []any{p.ID, p.Name, p.PluginType, p.files, url}
	},
}

// send replaces the files of the app by the folder's, in one version.
func (c appPush) send(ctx context.Context, o *client.Organization, read contents, to io.Writer) (client.AppSource, error) {
	c.Name = strings.TrimSpace(c.Name) // as the server does
	declared := source.DeclaredName(read.files["plugin.json"])
	if c.Name != "" && declared != "" && c.Name != declared {
		return client.AppSource{}, fmt.Errorf("plugin.json calls the app %s, not %s: leave --name out, or change one of them", declared, c.Name)
	}
	wanted := strings.TrimSpace(c.wanted(declared))
	id, err := c.find(ctx, o, wanted)
	if err != nil {
		return client.AppSource{}, err
	}
	if id == 0 {
		return c.create(ctx, o, wanted, declared, read.files, to)
	}
	for try := 1; ; try++ {
		source, err := c.replace(ctx, o, id, wanted, read, to)
		if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != http.StatusPreconditionFailed {
			return source, err
		}
		if try == maxTries {
			return source, fmt.Errorf("others are changing app %s at this moment, and nothing was stored: push again", wanted)
		}
	}
}

// create makes an app from the folder's files.
func (c appPush) create(ctx context.Context, o *client.Organization, wanted, declared string, files client.Files, to io.Writer) (client.AppSource, error) {
	by := "plugin.json"
	if declared == "" {
		by, declared = "--name", c.Name
	}
	if declared != "" && declared != wanted { // perhaps an app of that name is there: the last push may have renamed it
		return client.AppSource{}, fmt.Errorf("there is no app %s, and %s would call a new one %s: name that with --app, or the id of an app", wanted, by, declared)
	}
	app, err := o.CreateApp(ctx, client.AppDraft{PluginType: client.PluginSource, Name: wanted, Source: files, Message: c.Message})
	if err != nil {
		return client.AppSource{}, err
	}
	if c.DryRun {
		fmt.Fprintf(to, "foyer: note: there is no app named %s, and one would be made; whether its files compile is not known before\n", terminal.Printable(wanted))
		return client.AppSource{App: app}, nil
	}
	fmt.Fprintf(to, "foyer: note: made app %d: there was none named %s\n", app.ID, terminal.Printable(wanted))
	return o.GetSource(ctx, app.ID)
}

// maxTries is how many times a push is sent while others change the app.
const maxTries = 5

// replace replaces the files of the app by the folder's, unless somebody else changes the app meanwhile: otherwise, files
// that they add would stay.
func (c appPush) replace(ctx context.Context, o *client.Organization, id int64, wanted string, read contents, to io.Writer) (client.AppSource, error) {
	var etag string
	now, err := o.With(client.ETag(&etag)).GetSource(ctx, id)
	if err != nil {
		return now, orMissing(err, "app", wanted)
	}
	patch := client.SourcePatch{Source: client.FileEdits{}, Message: c.Message}
	if c.Name != "" && c.Name != now.Name {
		patch.Name = &c.Name
	}
	for name := range now.Source {
		if isHidden(name) { // a pull leaves it out, too
			continue
		}
		if at, why := read.leftOut(name); why != "" && path.Ext(name) != ".map" {
			return now, fmt.Errorf("%s cannot be sent: %s; and the app has %s: to delete it there, delete it in the folder", at, why, name)
		}
		patch.Source[name] = nil
	}
	for name, text := range read.files {
		patch.Source[name] = &text
	}
	app, err := o.With(client.IfMatch(etag)).UpdateSource(ctx, id, patch)
	if err == nil && app.Name != now.Name { // perhaps the folder of another app
		fmt.Fprintf(to, "foyer: note: app %d was named %s, and is now named %s\n", id, terminal.Printable(now.Name), terminal.Printable(app.Name))
	}
	return app, err
}

// wanted returns the name or id that the app is looked up by; plugin.json may declare a name.
func (c appPush) wanted(declared string) string {
	if name := cmp.Or(c.App, c.Name, declared); name != "" {
		return name
	}
	whole, err := filepath.Abs(c.Dir)
	if err != nil {
		whole = c.Dir
	}
	return filepath.Base(whole)
}

// find returns the id of the app; 0: the organization has no app of that name.
func (c appPush) find(ctx context.Context, o *client.Organization, name string) (int64, error) {
	if id := patch.ID(c.App); id != 0 {
		return id, nil
	}
	same, err := appsNamed(ctx, o, name)
	if err != nil {
		return 0, err
	}
	own, err := ownApps(ctx, o, same)
	if err != nil {
		return 0, err
	}
	return terminal.TheOne(idsOf(own), "apps named "+name, nil)
}

// contents are the files of a folder, by their names relative to it.
type contents struct {
	files  client.Files      // that an app can have
	unsent map[string]string // why others are left out
}

// leftOut returns what was left out of a folder, and why: the file, or a folder above it.
func (c contents) leftOut(name string) (at, why string) {
	for end, r := range name + "/" {
		if r == '/' && c.unsent[name[:end]] != "" {
			return name[:end], c.unsent[name[:end]]
		}
	}
	return "", ""
}

func readFolder(dir string, to io.Writer) (contents, error) {
	all := contents{client.Files{}, map[string]string{}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return all, err
	}
	defer root.Close()
	size := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case isHidden(d.Name()):
			return leave(d)
		case d.IsDir() && utf8.ValidString(name): // an fs.FS opens no others
			return nil
		}
		content, why, err := readFile(root, name, d)
		if err != nil {
			return err
		}
		if why != "" && name == "plugin.json" { // it names the app
			return fmt.Errorf("plugin.json cannot be sent: %s", why)
		}
		if why != "" {
			all.unsent[name] = why
			fmt.Fprintf(to, "foyer: note: left out %s: %s\n", terminal.Printable(name), why)
			return leave(d)
		}
		all.files[path.Clean(name)] = content
		if size += len(content); len(all.files) > source.MaxFiles || size > source.MaxBytes { // the rest could be a whole disk
			return fmt.Errorf("%s has more than an app can have: %d files, %d MiB together", dir, source.MaxFiles, source.MaxBytes>>20)
		}
		return nil
	})
	return all, err
}

// leave skips a file, or a folder with its contents.
func leave(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// readFile reads a file, or returns why to leave it out.
func readFile(root *os.Root, name string, d fs.DirEntry) (content, why string, err error) {
	switch {
	case !source.Takes(name, ""):
		return "", "an app's file cannot have this name", nil
	case !d.Type().IsRegular():
		return "", "not a file", nil
	case path.Ext(name) == ".map":
		return "", "a source map, which pages do not get", nil
	}
	if info, err := d.Info(); err != nil || info.Size() > source.MaxFileBytes {
		return "", fmt.Sprintf("larger than %d MiB", source.MaxFileBytes>>20), err
	}
	read, err := root.ReadFile(filepath.FromSlash(name))
	if err == nil && !source.Takes(name, string(read)) {
		why = "neither UTF-8 text nor a picture (.png, .jpg, .gif, .webp) or font (.woff2)"
	}
	return string(read), why, err
}
