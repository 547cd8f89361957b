package unpack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// What an app may consist of. Files that are not taken do not count.
const (
	MaxFiles          = 200
	MaxFileBytes      = 1 << 20
	MaxTotalBytes     = 10 << 20
	MaxPathCharacters = 200

	// maxEntries bounds the walk: a few trees that name each other's children
	// can stand for more folders than there are atoms.
	maxEntries = 100_000
)

// FileName reports whether a name can be that of an app's file. Git itself refuses to
// make most of those that cannot.
func FileName(name string) bool {
	return name != "." && !strings.HasPrefix(name, "/") && !strings.Contains(name, "..") &&
		name == path.Clean(name) && !strings.Contains(name, `\`) &&
		utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

var takenExtensions = []string{".ts", ".tsx", ".js", ".jsx", ".json", ".css", ".md"}

// neverSkipped are the files whose absence says something: plugin.json, and the
// entries of package bundle. Where one is there and cannot be taken, the app is
// refused: without its site.ts it would lose the bundle that it has.
var neverSkipped = []string{"plugin.json", "site.ts", "site.tsx", "frontend.tsx", "index.ts"}

// collector takes files out of a tree: those of the top folder and everything
// below src/.
type collector struct {
	store   *boundedStore
	files   map[string]string
	bytes   int
	entries int
}

func (c *collector) folder(tree *object.Tree, prefix string) error {
	for _, entry := range tree.Entries {
		c.entries++
		if c.entries > maxEntries {
			return refusal(fmt.Sprintf("The repository has more than %d files and folders in src/ and its top folder.", maxEntries))
		}
		name := prefix + entry.Name
		if strings.Contains(entry.Name, "/") || utf8.RuneCountInString(name) > MaxPathCharacters || !FileName(name) {
			continue
		}
		if err := c.entry(entry, name); err != nil {
			return err
		}
	}
	return nil
}

// entry takes a file or descends into a folder; it passes over symbolic links and
// submodules, unless an app would miss them.
func (c *collector) entry(entry object.TreeEntry, name string) error {
	file := entry.Mode == filemode.Regular || entry.Mode == filemode.Deprecated || entry.Mode == filemode.Executable
	switch {
	case file && slices.Contains(takenExtensions, path.Ext(name)):
		return c.file(entry.Hash, name)
	case !file && slices.Contains(neverSkipped, name):
		return refusal(fmt.Sprintf("%q must be a regular file, not a symbolic link, a submodule or a folder.", name))
	case entry.Mode == filemode.Dir:
		if name != "src" && !strings.HasPrefix(name, "src/") {
			return nil
		}
		tree, err := object.GetTree(c.store, entry.Hash)
		if err != nil {
			return fmt.Errorf("folder %q: %w", name, err)
		}
		return c.folder(tree, name+"/")
	}
	return nil
}

func (c *collector) file(hash plumbing.Hash, name string) error {
	text, err := c.text(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		// The host was asked to leave out what is larger, see smartgit.Fetch.
		return tooLarge(name)
	}
	if err != nil {
		return fmt.Errorf("file %q: %w", name, err)
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		if slices.Contains(neverSkipped, name) {
			return refusal(fmt.Sprintf("The file %q must be text in UTF-8, without NUL characters.", name))
		}
		return nil
	}
	c.files[name] = string(text)
	c.bytes += len(text)
	switch {
	case len(text) > MaxFileBytes:
		return tooLarge(name)
	case len(c.files) > MaxFiles:
		return refusal(fmt.Sprintf("The app has more than %d files.", MaxFiles))
	case c.bytes > MaxTotalBytes:
		return refusal(fmt.Sprintf("The app's files are more than %d MiB together.", MaxTotalBytes>>20))
	}
	return nil
}

func (c *collector) text(hash plumbing.Hash) ([]byte, error) {
	o, err := c.store.EncodedObject(plumbing.BlobObject, hash)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func tooLarge(name string) error {
	return refusal(fmt.Sprintf("The file %q is larger than %d MiB.", name, MaxFileBytes>>20))
}
