package console

import (
	"slices"
	"strings"

	"foyer/client"
)

// branch is a folder of an app's source, or a file.
type branch struct {
	Name   string
	File   client.SourceFile // zero: a folder
	Within []branch
}

// branches are the entries of a folder, and the page that they are on.
type branches struct {
	Within []branch
	Page   Source
}

// maxUnfolded is the largest number of files of an app whose folders are all open.
const maxUnfolded = 40

// Unfolded reports whether a folder is open. In a large app, it is open if one of its files is edited or does not
// compile.
func (b branches) Unfolded(folder branch) bool {
	return len(b.Page.files) <= maxUnfolded || slices.ContainsFunc(folder.Within, func(in branch) bool {
		if in.File.Filename == "" {
			return b.Unfolded(in)
		}
		return in.File.Status == "error" || b.Page.Opened(in.File.Filename)
	})
}

// treeOf makes a tree of files that are sorted by name. Folders come first.
func treeOf(files []client.SourceFile) []branch {
	var root branch
	for _, file := range files {
		root.add(strings.Split(file.Filename, "/"), file)
	}
	return root.Within
}

func (b *branch) add(path []string, file client.SourceFile) {
	if len(path) == 1 {
		b.Within = append(b.Within, branch{Name: path[0], File: file})
		return
	}
	at := slices.IndexFunc(b.Within, func(in branch) bool { return in.File.Filename == "" && in.Name == path[0] })
	if at < 0 {
		at = len(b.folders())
		b.Within = slices.Insert(b.Within, at, branch{Name: path[0]})
	}
	b.Within[at].add(path[1:], file)
}

// folders returns the folders at the beginning of what is within.
func (b *branch) folders() []branch {
	if i := slices.IndexFunc(b.Within, func(in branch) bool { return in.File.Filename != "" }); i >= 0 {
		return b.Within[:i]
	}
	return b.Within
}
