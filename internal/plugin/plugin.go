// Package plugin keeps an organization's plugins, which the API serves as
// pipeline frontend apps.
package plugin

import (
	"strconv"
	"strings"
	"time"

	"foyer/internal/access"
	"foyer/internal/fault"
	"foyer/internal/patch"
)

// Plugin is one registered plugin. Its JSON texts are as they were sent, without
// white space between tokens; an empty one is null.
type Plugin struct {
	ID               int64
	OrganizationID   string
	OrganizationName string
	Revision         int64 // counted up by each change; the column is called version
	Type             Type
	Name             string
	Description      string
	URL              string
	Icon             string
	ConfigSchema     string
	Tag              string
	LatestTag        string
	IsGlobal         bool
	Capabilities     string
	Metrics          string
	PublicJobs       string
	LastUsedAt       time.Time // zero: not yet
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// Cursor names the plugin in a list, so that the next page can go on after it.
func (p Plugin) Cursor() string { return strconv.FormatInt(p.ID, 10) }

// parseCursor returns the id of the plugin that a page goes on after; 0: none.
func parseCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id := patch.ID(text)
	if id == 0 {
		return 0, fault.Field(fault.Invalid, "after", "Must be as it is in the url of a next page.")
	}
	return id, nil
}

// Type says where a plugin comes from.
type Type string

// The types of plugins.
const (
	Local      Type = "local"      // registered by hand, no upstream
	Custom     Type = "custom"     // installed from a git url
	Repository Type = "repository" // installed from the catalog
	Source     Type = "source"     // its files are edited here
	Inline     Type = "inline"     // shipped with the operator's own build
)

// Draft holds the fields a caller may set, when creating or changing a plugin.
type Draft struct {
	Type         patch.Field[string]
	URL          patch.Field[string] // where to install from; only Create reads it
	Name         patch.Field[string]
	Description  patch.Field[string]
	Icon         patch.Field[string]
	ConfigSchema patch.Field[string]
	Tag          patch.Field[string]
	IsGlobal     patch.Field[bool]
	Capabilities patch.Field[string]
	Metrics      patch.Field[string]
	PublicJobs   patch.Field[string]
}

// The longest texts, in characters.
const (
	maxName        = 200
	maxDescription = 10_000
	maxIcon        = 800
	maxTag         = 200
)

// normalize removes the spaces around the name, and copies it: kept in Memory, a part
// of what was sent would keep all of that.
func (d *Draft) normalize() {
	d.Name.Value = strings.Clone(strings.TrimSpace(d.Name.Value))
}

// faults lists what is wrong with the draft by itself, in the order of the contract.
func (d *Draft) faults() fault.List {
	var faults fault.List
	faults.Add(patch.RequiredText("name", d.Name, maxName))
	faults.Add(patch.Text("description", d.Description, maxDescription))
	faults.Add(patch.Text("icon", d.Icon, maxIcon))
	faults.Add(d.ConfigSchema.Fault)
	faults.Add(patch.Text("tag", d.Tag, maxTag))
	faults.Add(d.IsGlobal.Check("is_global"))
	faults.Add(d.Capabilities.Fault)
	faults.Add(d.Metrics.Fault)
	faults.Add(d.PublicJobs.Fault)
	return faults
}

// newType is the type of a plugin that is being created.
func (d *Draft) newType() (Type, error) {
	if d.Type.Fault != nil {
		return "", d.Type.Fault
	}
	switch t := Type(d.Type.Value); t {
	case "":
		return Local, nil
	case Local, Custom, Repository, Source, Inline:
		return t, nil
	}
	return "", fault.Field(fault.InvalidChoice, "plugin_type", "Must be local, custom, repository, source or inline.")
}

// changedType is the type of a plugin after a change.
func (d *Draft) changedType(before Type) (Type, error) {
	t := Type(d.Type.Value)
	switch {
	case !d.Type.Set || t == before:
		return before, nil
	case editable(t) && editable(before):
		return t, nil
	}
	return "", fault.Field(fault.InvalidChoice, "plugin_type", "Must be %s.", choicesFrom(before))
}

// Installed reports whether plugins of a type come from an upstream.
func (t Type) Installed() bool { return t == Custom || t == Repository }

// editable reports whether a type is one of those that can become each other.
func editable(t Type) bool { return t == Local || t == Source || t == Inline }

func choicesFrom(t Type) string {
	if editable(t) {
		return "local, source or inline"
	}
	return string(t) + ", as it is"
}

// changed is a plugin as the draft makes it.
func (d *Draft) changed(before Plugin) (p Plugin, err error) {
	p = before
	if p.Type, err = d.changedType(before.Type); err != nil {
		return Plugin{}, err
	}
	d.apply(&p)
	return p, nil
}

// apply sets the fields that the draft names.
func (d *Draft) apply(p *Plugin) {
	set(d.Name, &p.Name)
	set(d.Description, &p.Description)
	set(d.Icon, &p.Icon)
	set(d.ConfigSchema, &p.ConfigSchema)
	set(d.Tag, &p.Tag)
	set(d.IsGlobal, &p.IsGlobal)
	set(d.Capabilities, &p.Capabilities)
	set(d.Metrics, &p.Metrics)
	set(d.PublicJobs, &p.PublicJobs)
}

// set gives a field its value; null is the zero value.
func set[T any](f patch.Field[T], to *T) {
	if f.Set {
		*to = f.Value
	}
}

// MayRead reports whether a caller may see an organization's plugins.
func MayRead(c access.Caller) error {
	if c.Organization.AppAccess < access.ReadApps {
		return fault.New(fault.Denied, "This organization may not use apps.")
	}
	return nil
}

// MayManage reports whether a caller may change an organization's plugins.
func MayManage(c access.Caller) error {
	if c.Organization.AppAccess < access.InstallApps {
		return fault.New(fault.Denied, "This organization may not change apps.")
	}
	if c.Level < access.Admin && !c.Organization.MembersCanManageApps {
		return fault.New(fault.Denied, "Only admins and owners may change the apps of this organization.")
	}
	return nil
}

// MayShare reports whether a caller may make a plugin global.
func MayShare(c access.Caller) error {
	if c.Organization.AppAccess < access.RootApps {
		return fault.New(fault.Denied, "This organization may not share apps with all organizations (is_global).")
	}
	return nil
}
