// Package plugin keeps an organization's plugins, which the API serves as
// pipeline frontend apps.
package plugin

import (
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
	"foyer/internal/infra/upstream"
)

// Plugin is one registered plugin. Its JSON texts are as they were sent, but without white space between tokens; an
// empty one is null.
type Plugin struct {
	ID               int64
	OrganizationID   string
	OrganizationName string
	Revision         int64  // counted up by each change
	DisabledBy       string // the changeable fields of the user who disabled it; "": nobody, or read in a list
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
	SharedFrom       int64     // if it is global: the number of the first version since it became so, which others see
	UpdatedAt        time.Time
}

// cursor names the plugin in a list, so that the next page can start after it.
func (p Plugin) cursor() string { return strconv.FormatInt(p.ID, 10) }

// parseCursor returns the id of the plugin that a page starts after; 0: none.
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

// Draft holds the fields that a caller may set when they create or change a plugin.
type Draft struct {
	Type         patch.Field[string]
	URL          patch.Field[string] // where to install from; for Update, the new place of a custom plugin's repository
	Name         patch.Field[string]
	Description  patch.Field[string]
	Icon         patch.Field[string]
	ConfigSchema patch.Field[string]
	Tag          patch.Field[string]
	IsGlobal     patch.Field[bool]
	Capabilities patch.Field[string]
	Metrics      patch.Field[string]
	PublicJobs   patch.Field[string]
	Source       []source.Edit       // its first files; only Create reads them
	Message      patch.Field[string] // the message of the saved version; only UpdateSource and Create read it
}

// maxStructure bounds the size of JSON, in bytes.
const maxStructure = 1 << 20

// The longest texts, in characters.
const (
	maxName        = source.MaxName
	maxDescription = source.MaxDescription
	maxIcon        = source.MaxIcon
	maxTag         = upstream.MaxTag
	maxMessage     = 500
)

// normalize removes the spaces around the name and copies it, because a substring in the cache would keep the whole
// request in memory.
func (d *Draft) normalize() {
	d.Name.Value = strings.Clone(strings.TrimSpace(d.Name.Value))
	d.Message.Value = strings.TrimSpace(d.Message.Value)
}

// newType returns the type of a plugin that is being created.
func (d *Draft) newType() (Type, error) {
	if d.Type.Fault != nil {
		return "", d.Type.Fault
	}
	if d.Type.Value == "" {
		return Local, nil
	}
	return ParseType(d.Type.Value)
}

// changedType returns the type of a plugin after a change.
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

// Installed reports whether plugins of this type come from an upstream.
func (t Type) Installed() bool { return t == Custom || t == Repository }

// editable reports whether a type is one of those that can change into each other.
func editable(t Type) bool { return t == Local || t == Source || t == Inline }

func choicesFrom(t Type) string {
	if editable(t) {
		return "local, source or inline"
	}
	return string(t) + ", as it is"
}

// mayBecome checks, before an upstream is asked, whether a caller may make the changes of the draft.
func (d *Draft) mayBecome(c access.Caller, before Plugin) error {
	after, err := d.changed(before)
	if err != nil || !after.IsGlobal || before.IsGlobal {
		return err
	}
	return MayShare(c)
}

// changed returns the plugin with the draft's changes.
func (d *Draft) changed(before Plugin) (p Plugin, err error) {
	p = before
	if p.Type, err = d.changedType(before.Type); err != nil {
		return Plugin{}, err
	}
	d.apply(&p)
	return p, nil
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
		return fault.New(fault.Denied, "This organization may not change apps and sites.")
	}
	if c.Level < access.Admin && !c.Organization.MembersCanManageApps {
		return fault.New(fault.Denied, "Only admins and owners may change the apps and sites of this organization.")
	}
	return nil
}

// mayInstall returns a check whether callers may add a plugin to their organization.
func mayInstall(p Plugin) func(access.Caller) error {
	return func(c access.Caller) error {
		if err := MayManage(c); err != nil || !p.IsGlobal {
			return err
		}
		return MayShare(c)
	}
}

// MayShare reports whether a caller may make a plugin global.
func MayShare(c access.Caller) error {
	if c.Organization.AppAccess < access.RootApps {
		return fault.New(fault.Denied, "This organization may not share apps with all organizations (is_global).")
	}
	return nil
}
