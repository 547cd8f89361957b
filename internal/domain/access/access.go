// Package access says who is calling and what they may do: API keys, their
// scopes, sessions, and levels of membership.
package access

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/activity"
)

// Scope is a set of permissions that a key carries, one bit each.
type Scope uint8

// The permissions foyer knows. The bits of a write scope include those of reading.
const (
	PluginRead Scope = 1 << iota
	pluginWrite
	MemberRead
	memberWrite
	everything

	PluginWrite = pluginWrite | PluginRead
	MemberWrite = memberWrite | MemberRead
	All         = everything | PluginWrite | MemberWrite
)

// scopes names the scopes, the widest first.
var scopes = []struct {
	scope Scope
	name  string
}{
	{All, "*"},
	{PluginWrite, "plugin:write"},
	{PluginRead, "plugin:read"},
	{MemberWrite, "organization_member:write"},
	{MemberRead, "organization_member:read"},
}

// ParseScopes reads names of scopes.
func ParseScopes(names []string) (Scope, error) {
	var set Scope
next:
	for _, name := range names {
		for _, s := range scopes {
			if s.name == name {
				set |= s.scope
				continue next
			}
		}
		return 0, fault.Field(fault.InvalidChoice, "scopes", "%q is not a scope: choose from %s.", name, scopeNames())
	}
	if set == 0 {
		return 0, fault.Field(fault.Required, "scopes", "A key needs a scope: choose from %s.", scopeNames())
	}
	return set, nil
}

// Includes reports whether s has every permission of other.
func (s Scope) Includes(other Scope) bool { return s&other == other }

// Require refuses a scope that lacks a permission of needed, which it names.
func (s Scope) Require(needed Scope) error {
	if s.Includes(needed) {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Detail: fmt.Sprintf("This needs a key with the scope %s.", needed), Scope: needed.String()}
}

// Names lists the fewest scopes that make up s.
func (s Scope) Names() []string {
	var names []string
	var named Scope
	for _, candidate := range scopes {
		if s.Includes(candidate.scope) && !named.Includes(candidate.scope) {
			names = append(names, candidate.name)
			named |= candidate.scope
		}
	}
	return names
}

// Choices lists every scope that s includes, the widest first.
func (s Scope) Choices() []string {
	var names []string
	for _, candidate := range scopes {
		if s.Includes(candidate.scope) {
			names = append(names, candidate.name)
		}
	}
	return names
}

// scopeNames lists all scopes, for errors.
func scopeNames() string { return strings.Join(All.Choices(), ", ") }

func (s Scope) String() string { return strings.Join(s.Names(), " ") }

// Level is how much a member may do in an organization.
type Level int32

// The levels of members.
const (
	Member Level = 1
	Admin  Level = 8
	Owner  Level = 15
)

// ParseLevel reads a level's number or name; if it is neither, the fault names field.
func ParseLevel(field, text string) (Level, error) {
	for _, l := range []Level{Member, Admin, Owner} {
		if text == l.String() || text == strconv.Itoa(int(l)) {
			return l, nil
		}
	}
	return 0, fault.Field(fault.InvalidChoice, field, "Must be 1 (member), 8 (admin) or 15 (owner).")
}

func (l Level) String() string {
	switch l {
	case Member:
		return "member"
	case Admin:
		return "admin"
	case Owner:
		return "owner"
	}
	return "unknown"
}

// AppAccess is what an organization may do with apps.
type AppAccess int32

// The app access levels of organizations.
const (
	NoApps      AppAccess = 0
	ReadApps    AppAccess = 3
	InstallApps AppAccess = 6
	RootApps    AppAccess = 9
)

// ParseAppAccess reads the number of an app access level.
func ParseAppAccess(n int) (AppAccess, error) {
	switch a := AppAccess(n); a {
	case NoApps, ReadApps, InstallApps, RootApps:
		return a, nil
	}
	return 0, fault.Field(fault.InvalidChoice, "access_level", "Must be 0 (none), 3 (read), 6 (install) or 9 (root).")
}

// Organization holds what a caller's permissions depend on in the organization they act in.
type Organization struct {
	ID                   string
	Name                 string
	AppAccess            AppAccess
	MembersCanInvite     bool
	MembersCanManageApps bool
}

// Caller is an authenticated user acting inside one organization; on routes that
// name none, Level and Organization are zero.
type Caller struct {
	UserID       int64
	KeyID        int64     // 0: no key: on the command line, or in a session that began without one
	SessionID    int64     // 0: no session
	BoundTo      string    // the one organization that the caller's key opens; "": all of the user's
	keyExpires   time.Time // zero: never
	Scope        Scope
	Level        Level
	Organization Organization
	RequestID    string // of the request that is being answered; "" elsewhere
	Address      string // that the request comes from, if the activity keeps addresses

	keys    *Keys // that admitted the caller; nil: they were not admitted from memory
	version int64 // of keys when they admitted the caller
}

// Did returns an entry as one about what the caller did.
func (c Caller) Did(e activity.Entry) activity.Entry {
	e.User.ID, e.KeyID, e.SessionID, e.RequestID, e.Address = c.UserID, c.KeyID, c.SessionID, c.RequestID, c.Address
	return e
}
