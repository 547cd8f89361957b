package source

import (
	"slices"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/infra/upstream"
)

// ManifestName is the name of the file that describes an app.
const ManifestName = "plugin.json"

// The longest texts in a manifest, in characters.
const (
	MaxName        = upstream.MaxName
	MaxDescription = 10_000
	MaxIcon        = 800
)

// DeclaredName is the app's name in the text of a plugin.json; "" if it has none. It may be too long for a name.
func DeclaredName(manifest string) string {
	m, _ := ReadManifest(manifest, "")
	return m.Name
}

// ReadManifest reads the text of a plugin.json. Its faults name the given field.
func ReadManifest(text, field string) (upstream.Manifest, error) {
	m, err := upstream.ParseManifest(text)
	if err != nil {
		return m, fault.Field(fault.Invalid, field, "The app's %s %v.", ManifestName, err)
	}
	if m.Name = strings.TrimSpace(m.Name); patch.Blank(m.Name) {
		m.Name = ""
	}
	for _, limit := range []struct {
		key, text string
		most      int
	}{{"name", m.Name, MaxName}, {"description", m.Description, MaxDescription}, {"icon", m.Icon, MaxIcon}} {
		if n := utf8.RuneCountInString(limit.text); n > limit.most {
			return m, fault.Field(fault.Invalid, field, "The %q in %s must be at most %d characters long, not %d.", limit.key, ManifestName, limit.most, n)
		}
	}
	return m, nil
}

// ManifestEdit is the edit that sets plugin.json, if there is one.
func ManifestEdit(edits []Edit) (Edit, bool) {
	for _, e := range slices.Backward(edits) {
		if e.Name == ManifestName {
			return e, !e.Text.Null
		}
	}
	return Edit{}, false
}
