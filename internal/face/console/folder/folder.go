// Package folder packs the files of an app into a zip, and unpacks zips that clients send.
package folder

import (
	"archive/zip"
	"bytes"
	"cmp"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/source"
)

// maxEntries bounds what is read of a directory before its files are counted.
const maxEntries = 10_000

// entryMark begins each entry of a zip's directory.
var entryMark = []byte("PK\x01\x02")

// encrypted is the flag of an entry that is protected by a password.
const encrypted = 1

// field is the form's name for the zip.
const field = "zip"

// Unpack returns the files of a zip by their names, and the names of those that no app can have. A folder that contains
// all of them is not part of their names.
func Unpack(packed []byte) (files map[string]string, leftOut []string, err error) {
	entries, err := entriesOf(packed)
	if err != nil {
		return nil, nil, err
	}
	top := common(entries)
	files = map[string]string{}
	total := 0
	for _, entry := range entries {
		name := strings.TrimPrefix(entry.Name, top)
		content, err := read(entry, name)
		if err != nil {
			return nil, nil, err
		}
		total += len(content)
		_, twice := files[name]
		switch {
		case !entry.Mode().IsRegular() || !source.Takes(name, content):
			leftOut = append(leftOut, name)
		case twice:
			return nil, nil, fault.Field(fault.Invalid, field, "It has %q twice.", name)
		default:
			files[name] = content
		}
		if len(files) > source.MaxFiles || total > source.MaxBytes {
			return nil, nil, fault.Field(fault.TooLong, field, "An app has at most %d files, %d MiB together.", source.MaxFiles, source.MaxBytes>>20)
		}
	}
	if len(files) == 0 {
		return nil, nil, fault.Field(fault.Invalid, field, "It has no files that an app can have.")
	}
	return files, leftOut, nil
}

// Trim returns a zip without the entries that Unpack ignores.
func Trim(packed []byte) ([]byte, error) {
	entries, err := entriesOf(packed)
	if err != nil {
		return nil, err
	}
	var trimmed bytes.Buffer
	archive := zip.NewWriter(&trimmed)
	for _, entry := range entries {
		if err := archive.Copy(entry); err != nil {
			return nil, err
		}
	}
	err = archive.Close()
	return trimmed.Bytes(), err
}

// entriesOf returns the files of a zip that are not hidden.
func entriesOf(packed []byte) ([]*zip.File, error) {
	if bytes.Count(packed, entryMark) > maxEntries {
		return nil, fault.Field(fault.TooLong, field, "It has more than %d files.", maxEntries)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fault.Field(fault.Unparsable, field, "It is not a zip, or it is incomplete.")
	}
	for _, entry := range archive.File {
		if !strings.Contains(entry.Name, `:\`) { // outside: a drive
			entry.Name = strings.ReplaceAll(entry.Name, `\`, "/") // Windows PowerShell writes \ between folders
		}
	}
	entries := slices.DeleteFunc(archive.File, func(f *zip.File) bool { return f.FileInfo().IsDir() || Hidden(f.Name) })
	left := uint64(len(packed))
	for _, entry := range entries {
		if entry.CompressedSize64 > left { // entries may share their data: reading or copying it for each could take days, and all memory
			return nil, fault.Field(fault.Unparsable, field, "It says that its files are larger than itself.")
		}
		if at, err := entry.DataOffset(); err != nil || at+int64(entry.CompressedSize64) > int64(len(packed)) {
			return nil, fault.Field(fault.Unparsable, field, "It is incomplete: %q is not in it.", entry.Name)
		}
		left -= entry.CompressedSize64
	}
	return entries, nil
}

// Hidden reports whether a file belongs to a tool, as source maps do. Such files are not taken out of a zip.
func Hidden(name string) bool {
	return path.Ext(name) == ".map" || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == "node_modules" || part == "__MACOSX" || strings.HasPrefix(part, ".") && part != "." && part != ".."
	})
}

// common returns the folder of all entries, with the slash after it; "": there is none.
func common(entries []*zip.File) string {
	var top string
	for _, entry := range entries {
		folder, _, within := strings.Cut(entry.Name, "/")
		if !within || folder == ".." || top != "" && top != folder+"/" {
			return ""
		}
		top = folder + "/"
	}
	return top
}

// read unpacks one file, whatever size its header claims.
func read(entry *zip.File, name string) (string, error) {
	if entry.Flags&encrypted != 0 {
		return "", fault.Field(fault.Unparsable, field, "%q is protected by a password: pack the files without one.", name)
	}
	r, err := entry.Open()
	if err != nil {
		return "", fault.Field(fault.Unparsable, field, "%q cannot be unpacked.", name)
	}
	defer r.Close()
	content, err := io.ReadAll(io.LimitReader(r, source.MaxFileBytes+1))
	if err != nil {
		return "", fault.Field(fault.Unparsable, field, "%q cannot be unpacked.", name)
	}
	if len(content) > source.MaxFileBytes {
		return "", fault.Field(fault.TooLong, field, "The file %q is larger than %d MiB.", name, source.MaxFileBytes>>20)
	}
	return string(content), nil
}

// Pack writes files into a zip, in a folder with a name. They have the time at: without one, an unpacked file is from before
// 1980, and some tools refuse to pack it again.
func Pack(w io.Writer, name string, files map[string]string, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: Name(name) + "/" + file, Method: zip.Deflate, Modified: at})
		if err == nil {
			_, err = io.WriteString(entry, files[file])
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// Name turns a name into one that a folder can have on any system.
func Name(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return cmp.Or(strings.Trim(plain[:min(len(plain), 60)], "-"), "app")
}
