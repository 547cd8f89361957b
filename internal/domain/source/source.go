// Package source has the files of an app: which files there can be, edits of them, their manifest, and differences.
package source

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/upstream/unpack"
)

// An app's source has the same bounds as what an upstream may send.
const (
	MaxFiles     = unpack.MaxFiles
	MaxFileBytes = unpack.MaxFileBytes
	MaxBytes     = unpack.MaxTotalBytes
	maxFileName  = unpack.MaxPathCharacters
	maxEdits     = 2 * MaxFiles // enough to remove all files and set as many
)

// File is one file of an app's source, with the result of compiling it.
type File struct {
	bundle.File

	Text   string // may also be the bytes of a picture or font
	SHA256 string // of Text, in hexadecimal
	Size   int    // of Text, in bytes
}

// Edit sets a file of an app's source, or removes it.
type Edit struct {
	Field string              // of the request that holds the edit
	Name  string              // of the file
	Text  patch.Field[string] // null removes the file
}

// wrong returns what is wrong with the text; the message names the file unless the field does.
func (e Edit) wrong() error {
	if e.Field == e.Name {
		return e.Text.Fault
	}
	f := fault.Of(e.Text.Fault)[0]
	return fault.Field(f.Kind, e.Field, "%q: %s", e.Name, f.Detail)
}

// TooMany refuses more edits than one request may have.
func TooMany(edits []Edit) error {
	if len(edits) > maxEdits {
		return fault.Field(fault.TooLong, "source", "At most %d files fit in one request, not %d.", maxEdits, len(edits))
	}
	return nil
}

// Takes reports whether an app's source can have a file with this name and content, of any size.
func Takes(name, content string) bool {
	return unpack.FileName(name) && utf8.RuneCountInString(name) <= maxFileName && (unpack.IsText(content) || unpack.IsBinary(name))
}

// Faults lists what is wrong with the edits alone, whatever files they change.
func Faults(edits []Edit) fault.List {
	var all fault.List
	for _, e := range edits {
		switch {
		case e.Text.Fault != nil:
			all.Add(e.wrong())
		case utf8.RuneCountInString(e.Name) > maxFileName:
			all.Add(fault.Field(fault.TooLong, e.Field, "A file name must be at most %d characters long.", maxFileName))
		case !unpack.FileName(e.Name):
			all.Add(fault.Field(fault.Invalid, e.Field,
				"%q cannot be the name of a file: it must be a relative path such as src/lib.ts, without .., \\ or control characters.", e.Name))
		case !unpack.IsText(e.Text.Value) && !unpack.IsBinary(e.Name):
			all.Add(fault.Field(fault.Invalid, e.Field, "%q must be text in UTF-8, without NUL characters: only pictures (.png, .jpg, .gif, .webp) and fonts (.woff2) can be other bytes.", e.Name))
		case len(e.Text.Value) > MaxFileBytes:
			all.Add(fault.Field(fault.TooLong, e.Field, "The file %s is larger than %d MiB.", e.Name, MaxFileBytes>>20))
		}
	}
	return all
}

// Texts returns the texts of files, by name.
func Texts(files []File) map[string]string {
	texts := make(map[string]string, len(files))
	for _, f := range files {
		texts[f.Name] = f.Text
	}
	return texts
}

// Apply returns the texts of files, by name, after the edits.
func Apply(files []File, edits []Edit) (map[string]string, error) {
	texts := Texts(files)
	for _, e := range edits {
		if e.Text.Null {
			delete(texts, e.Name)
		} else {
			texts[e.Name] = e.Text.Value
		}
	}
	total := 0
	for name, text := range texts {
		total += len(text)
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if _, isFile := texts[folder]; isFile {
				return nil, fault.Field(fault.Invalid, "source", "There is a file %s: %s cannot be in a folder of that name.", folder, name)
			}
		}
	}
	switch {
	case len(texts) > MaxFiles:
		return nil, fault.Field(fault.TooLong, "source", "An app has at most %d files; this makes it %d.", MaxFiles, len(texts))
	case total > MaxBytes:
		return nil, fault.Field(fault.TooLong, "source", "The files of an app are at most %d MiB together.", MaxBytes>>20)
	}
	return texts, nil
}

// Sum is the sum of a version, over the names and sums of its files.
func Sum(files []File) string {
	var list strings.Builder
	for _, f := range files {
		fmt.Fprintf(&list, "%s %s\n", f.SHA256, f.Name)
	}
	return digest.SHA256(list.String())
}
