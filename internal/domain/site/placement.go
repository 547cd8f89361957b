package site

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// Placement is an app on a site, with its values.
type Placement struct {
	SiteID         int64
	SiteName       string
	SiteToken      string
	OrganizationID string // the site's
	AppID          int64
	Name           string // the app's; "": it was deleted or is no longer shared
	Enabled        bool
	Position       int64
	Version        int64    // pinned version; 0: it follows the app
	Running        int64    // the version in the manifest; 0: none
	Held           string   // why Running is not the wanted version; "": it is
	Paths          []string // where it runs; none: everywhere
	Config         string   // a JSON object: the given values
	Values         string   // a JSON object: the values that the page gets
	CreatedAt      time.Time
	UpdatedAt      time.Time

	kept int64 // the version that was last in the manifest; 0: none
}

// PlacementDraft holds the fields that a caller may set when they place an app or change a placement.
type PlacementDraft struct {
	AppID    patch.Field[int64]
	Enabled  patch.Field[bool]
	Position patch.Field[int64]
	Version  patch.Field[int64] // null: follow the app
	Paths    patch.Field[[]string]
	Config   patch.Field[[]Value]
	Reason   patch.Field[string] // why it is switched off; only for changes
}

// Value is the value given for one key; null resets it to the default.
type Value struct {
	Key  string
	JSON patch.Field[string]
}

const (
	maxPlacements  = 200 // on a site
	maxConfigBytes = 256 << 10
	maxOffBytes    = 1 << 10 // of values shown for a placement that is off; they do not count for maxConfigBytes
	maxPaths       = 50
	maxPath        = 1000                // characters
	maxPathBytes   = 256 << 10           // of the paths on a site, in the form of the manifest
	maxPosition    = 999_999_999_999_999 // JavaScript represents such numbers exactly
)

// check finds what is wrong with a draft alone.
func (d *PlacementDraft) check() error {
	var faults fault.List
	faults.Add(d.Enabled.Check("enabled"))
	faults.Add(d.Position.Check("position"))
	if d.Position.Value > maxPosition || d.Position.Value < -maxPosition {
		faults.Add(fault.Field(fault.Invalid, "position", "Must be a whole number of at most 15 digits."))
	}
	faults.Add(d.Version.Fault)
	if d.Version.Or(1) < 1 {
		faults.Add(fault.Field(fault.Invalid, "version", "Must be the number of a version, or null to follow the app."))
	}
	faults.Add(checkPaths(d.Paths))
	faults.Add(d.Config.Check("config"))
	for _, v := range d.Config.Value {
		faults.Add(v.JSON.Fault)
	}
	faults.Add(checkReason(&d.Reason, d.Enabled))
	return faults.Err()
}

func checkPaths(f patch.Field[[]string]) error {
	if err := f.Check("paths"); err != nil {
		return err
	}
	if n := len(f.Value); n > maxPaths {
		return fault.Field(fault.TooLong, "paths", "At most %d paths fit, not %d.", maxPaths, n)
	}
	for _, path := range f.Value {
		if !isGlob(path) {
			return fault.Field(fault.Invalid, "paths", "%.100q is not a path like /shop/** or !**/checkout: it must begin with / or **, after a ! if there is one, and have at most %d characters.", path, maxPath)
		}
	}
	return nil
}

// isGlob reports whether a text can match paths of pages.
func isGlob(text string) bool {
	path := strings.TrimPrefix(text, "!")
	return (strings.HasPrefix(path, "/") || strings.HasPrefix(path, "**")) && utf8.RuneCountInString(path) <= maxPath &&
		utf8.ValidString(path) && !slices.ContainsFunc([]rune(path), unicode.IsControl)
}

// values is a JSON object, by key.
type values map[string]json.RawMessage

func readValues(text string) values {
	all := values{}
	_ = json.Unmarshal([]byte(text), &all) // this package wrote it
	return all
}

// with returns v with the given values set and those that are null removed.
func (v values) with(given []Value) values {
	all := maps.Clone(v)
	for _, g := range given {
		if g.JSON.Null {
			delete(all, g.Key)
		} else {
			all[g.Key] = json.RawMessage(g.JSON.Value)
		}
	}
	return all
}

// bytes is the size of a placement's values: the given ones or, if that is more, those with defaults. No page gets the
// latter of a placement that is off.
func (p *Placement) bytes() int {
	if !p.Enabled {
		return len(p.Config)
	}
	return max(len(p.Config), len(p.Values))
}

// changing returns the draft without what the placement already has. A client may always send back what it has read,
// whatever has become of the app since.
func (d PlacementDraft) changing(p Placement) PlacementDraft {
	if d.Enabled.Value == p.Enabled {
		d.Enabled = patch.Field[bool]{}
	}
	if d.Version.Value == p.Version {
		d.Version = patch.Field[int64]{}
	}
	if slices.Equal(d.Paths.Value, p.Paths) {
		d.Paths = patch.Field[[]string]{}
	}
	stored := readValues(p.Config)
	d.Config.Value = slices.DeleteFunc(slices.Clone(d.Config.Value), func(v Value) bool {
		return !v.JSON.Null && patch.SameJSON(encode(json.RawMessage(v.JSON.Value)), string(stored[v.Key]))
	})
	d.Config.Set = len(d.Config.Value) > 0
	return d
}

// apply sets the fields that the draft names.
func (d *PlacementDraft) apply(p *Placement) {
	d.Enabled.Apply(&p.Enabled)
	d.Position.Apply(&p.Position)
	d.Version.Apply(&p.Version)
	d.Paths.Apply(&p.Paths)
	if d.Config.Set {
		p.Config = encode(readValues(p.Config).with(d.Config.Value))
	}
}
