package unpack

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"foyer/internal/infra/bundle"
)

// Limits of an app. Files that are not taken do not count.
const (
	MaxFiles          = 400
	MaxFileBytes      = 1 << 20
	MaxTotalBytes     = 10 << 20
	MaxPathCharacters = 200

	// maxEntries limits the walk: a few trees that contain each other can stand for more folders than there are atoms.
	maxEntries = 100_000
)

// FileName reports whether an app's file can have a name. Git itself refuses to create most of the others.
func FileName(name string) bool {
	return name != "." && !strings.HasPrefix(name, "/") && !strings.Contains(name, "..") &&
		name == path.Clean(name) && !strings.Contains(name, `\`) &&
		utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

var (
	textExtensions   = []string{".ts", ".tsx", ".js", ".jsx", ".mjs", ".json", ".css", ".md", ".svg"}
	binaryExtensions = []string{".png", ".jpg", ".gif", ".webp", ".woff2"}
)

// IsBinary reports whether an app's file with this name may be other than text.
func IsBinary(name string) bool { return slices.Contains(binaryExtensions, path.Ext(name)) }

// IsText reports whether the content of a file is text.
func IsText(content string) bool {
	return utf8.ValidString(content) && !strings.Contains(content, "\x00")
}

// collector takes files from a tree: those of the top folder, and everything below some other folders.
type collector struct {
	objects *objects
	folders []string // src, dist and the folder of plugin.json's main
	needed  []string // files that must not be skipped: without its site.ts, an app would lose its present bundle
	site    string   // the source of the bundle, if plugin.json names a main
	files   map[string]string
	bytes   int
	entries int
}

func (c *collector) folder(entries []entry, prefix string) error {
	for _, e := range entries {
		c.entries++
		if c.entries > maxEntries {
			return refusal(fmt.Sprintf("The repository has more than %d files and folders in src/ and its top folder.", maxEntries))
		}
		name := prefix + e.name
		if strings.Contains(e.name, "/") || utf8.RuneCountInString(name) > MaxPathCharacters || !FileName(name) {
			continue
		}
		if err := c.entry(e, name); err != nil {
			return err
		}
	}
	return nil
}

// entry takes a file or descends into a folder; it skips symbolic links and submodules, unless the app needs them.
func (c *collector) entry(e entry, name string) error {
	below := func(other string) bool { return strings.HasPrefix(other, name+"/") }
	file := e.isFile()
	switch {
	case file && (slices.Contains(textExtensions, path.Ext(name)) || IsBinary(name)):
		if dir := path.Dir(name); dir != "." && !c.isWithin(dir) {
			return nil // only on the path to a folder that is taken
		}
		return c.file(e.hash, name)
	case !file && slices.Contains(c.needed, name):
		return refusal(fmt.Sprintf("%q must be a regular file, not a symbolic link, a submodule or a folder.", name))
	case e.isDir():
		if !c.isWithin(name) && !slices.ContainsFunc(c.folders, below) {
			return nil
		}
		tree, err := c.objects.tree(e.hash)
		if err != nil {
			return fmt.Errorf("folder %q: %w", name, err)
		}
		return c.folder(tree, name+"/")
	case !file && below(c.site):
		return refusal(fmt.Sprintf("%q must be a folder, not a symbolic link or a submodule: the main of plugin.json is in it.", name))
	}
	return nil
}

// isWithin reports whether a folder is, or is below, one that is taken.
func (c *collector) isWithin(name string) bool {
	return slices.ContainsFunc(c.folders, func(folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") })
}

// learn reads from plugin.json which files are needed and which folders are taken. Errors in plugin.json are reported
// when it is installed.
func (c *collector) learn(top []entry) {
	c.folders, c.needed = []string{"src", "dist"}, append(bundle.Entries(""), "plugin.json")
	at := slices.IndexFunc(top, func(e entry) bool { return e.name == "plugin.json" && !e.isDir() })
	if at < 0 {
		return
	}
	text, err := c.content(top[at].hash)
	if err != nil {
		return
	}
	if main := bundle.Main(text); main != "" {
		c.needed = append(c.needed, bundle.Entries(text)...)
		files := map[string]string{main: ""}
		for _, e := range top {
			files[e.name] = ""
		}
		c.site = bundle.SiteOf(files, text)
		if folder := path.Dir(main); folder != "." {
			c.folders = append(c.folders, folder)
		}
	}
}

func (c *collector) file(hash plumbing.Hash, name string) error {
	content, err := c.content(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		// The host was asked to omit larger files, see smartgit.Fetch.
		return tooLarge(name)
	}
	if err != nil {
		return fmt.Errorf("file %q: %w", name, err)
	}
	if !IsText(content) && !IsBinary(name) {
		if slices.Contains(c.needed, name) {
			return refusal(fmt.Sprintf("The file %q must be text in UTF-8, without NUL characters.", name))
		}
		return nil
	}
	c.files[name] = content
	c.bytes += len(content)
	switch {
	case len(content) > MaxFileBytes:
		return tooLarge(name)
	case len(c.files) > MaxFiles:
		return refusal(fmt.Sprintf("The app has more than %d files.", MaxFiles))
	case c.bytes > MaxTotalBytes:
		return refusal(fmt.Sprintf("The app's files are more than %d MiB together.", MaxTotalBytes>>20))
	}
	return nil
}

func (c *collector) content(hash plumbing.Hash) (string, error) {
	content, err := c.objects.content(plumbing.BlobObject, hash)
	return string(content), err
}

func tooLarge(name string) error {
	return refusal(fmt.Sprintf("The file %q is larger than %d MiB.", name, MaxFileBytes>>20))
}
