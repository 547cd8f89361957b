package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/unpack"
)

// A plugin's source has the same bounds as what an upstream may send.
const (
	MaxFiles       = unpack.MaxFiles
	MaxFileBytes   = unpack.MaxFileBytes
	MaxSourceBytes = unpack.MaxTotalBytes
	maxFileName    = unpack.MaxPathCharacters
	maxEdits       = 2 * MaxFiles // enough to remove all files and set as many
)

// manifestName is the file that describes a plugin.
const manifestName = "plugin.json"

// File is one file of a plugin's source, with the result of compiling it.
type File struct {
	bundle.File

	Text   string // may also be the bytes of a picture or font
	SHA256 string // of Text, in hexadecimal
	Size   int    // of Text, in bytes
}

// Edit sets a file of a plugin's source, or removes it.
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

// tooMany refuses more edits than one request may have.
func tooMany(edits []Edit) error {
	if len(edits) > maxEdits {
		return fault.Field(fault.TooLong, "source", "At most %d files fit in one request, not %d.", maxEdits, len(edits))
	}
	return nil
}

// Takes reports whether an app's source can have a file with this name and content, of any size.
func Takes(name, content string) bool {
	return unpack.FileName(name) && utf8.RuneCountInString(name) <= maxFileName && (unpack.IsText(content) || unpack.IsBinary(name))
}

// editFaults lists what is wrong with the edits alone, whatever files they change.
func editFaults(edits []Edit) fault.List {
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

// edited returns the files, by name, after the edits.
func edited(files []File, edits []Edit) (map[string]string, error) {
	texts := make(map[string]string, len(files)+len(edits))
	for _, f := range files {
		texts[f.Name] = f.Text
	}
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
	case total > MaxSourceBytes:
		return nil, fault.Field(fault.TooLong, "source", "The files of an app are at most %d MiB together.", MaxSourceBytes>>20)
	}
	return texts, nil
}

// same reports whether files are exactly these texts.
func same(files []File, texts map[string]string) bool {
	return len(files) == len(texts) && !slices.ContainsFunc(files, func(f File) bool {
		text, ok := texts[f.Name]
		return !ok || text != f.Text
	})
}

// DeclaredName is the app's name in the text of a plugin.json; "" if it has none. It may be too long for a name.
func DeclaredName(manifest string) string {
	m, _ := readManifest(manifest, "")
	return m.Name
}

// readManifest reads the text of a plugin.json; its faults name the given field.
func readManifest(text, field string) (upstream.Manifest, error) {
	m, err := upstream.ParseManifest(text)
	if err != nil {
		return m, fault.Field(fault.Invalid, field, "The app's %s %v.", manifestName, err)
	}
	if m.Name = strings.TrimSpace(m.Name); patch.Blank(m.Name) {
		m.Name = ""
	}
	for _, limit := range []struct {
		key, text string
		most      int
	}{{"name", m.Name, maxName}, {"description", m.Description, maxDescription}, {"icon", m.Icon, maxIcon}} {
		if n := utf8.RuneCountInString(limit.text); n > limit.most {
			return m, fault.Field(fault.Invalid, field, "The %q in %s must be at most %d characters long, not %d.", limit.key, manifestName, limit.most, n)
		}
	}
	return m, nil
}

// compact returns JSON without white space between its tokens.
func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return ""
	}
	return out.String()
}

// describe sets the fields of a plugin that the manifest of a version names, and keeps the others.
func describe(p *Plugin, m upstream.Manifest) {
	fill(&p.Name, m.Name)
	fill(&p.Description, m.Description)
	fill(&p.Icon, m.Icon)
	fill(&p.ConfigSchema, compact(m.Config))
	fill(&p.PublicJobs, compact(m.PublicJobs))
}

func fill(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// manifestEdit is the edit that sets plugin.json, if there is one.
func manifestEdit(edits []Edit) (Edit, bool) {
	for _, e := range slices.Backward(edits) {
		if e.Name == manifestName {
			return e, !e.Text.Null
		}
	}
	return Edit{}, false
}

// sumOf is the sum of a version, over the names and sums of its files.
func sumOf(files []File) string {
	var list strings.Builder
	for _, f := range files {
		fmt.Fprintf(&list, "%s %s\n", f.SHA256, f.Name)
	}
	return digest.SHA256(list.String())
}
