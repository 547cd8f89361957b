package console

import (
	"slices"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/domain/event"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
)

// Offer is what the pages offer a user: what the API would let them do.
type Offer struct {
	Caller                                 access.Caller
	SeeApps, ChangeApps, ShareApps         bool
	PlaceApps                              bool // on sites; others' apps too
	Preview                                bool
	SeePeople, Invite, SeeLinks, SetLevels bool
	SeeAudit, SeeKeys, ChangeSettings      bool
	SeeWebhooks                            bool
	SeeSessions, ChangeSelf                bool
	Levels                                 []client.Level // to invite at
}

func offer(c access.Caller) Offer {
	has := c.Scope.Includes
	o := Offer{
		Caller:     c,
		SeeApps:    has(access.PluginRead) && plugin.MayRead(c) == nil,
		ChangeApps: has(access.PluginWrite) && plugin.MayManage(c) == nil,
		ShareApps:  plugin.MayShare(c) == nil,
		Preview:    has(access.All) && site.MayPreview(c) == nil,
		SeePeople:  has(access.MemberRead),
		SeeAudit:   has(access.MemberRead) && org.MaySeeActivity(c) == nil,
		Invite:     has(access.MemberWrite) && invite.MayInvite(c) == nil,
		SeeLinks:   invite.MaySeeLinks(c) == nil,
		SetLevels:  has(access.MemberWrite) && org.MayManageMembers(c) == nil,
		SeeKeys:    access.MayManageKeys(c) == nil,
	}
	o.PlaceApps = o.ChangeApps
	o.SeeWebhooks = has(access.All) && event.MaySee(c) == nil
	o.ChangeSettings = org.MayChangeSettings(c) == nil
	o.SeeSessions = access.MaySeeSelf(c) == nil
	o.ChangeSelf = mayChangeSelf(c)
	o.Levels = levels(func(l access.Level) error { return invite.MayGive(c, l) })
	return o
}

// changes reports whether the caller may change an app. One that another organization shares can be changed only there.
func (o Offer) changes(app client.App) bool {
	return o.ChangeApps && app.OrganizationID == o.Caller.Organization.ID
}

// mayChangeSelf reports whether a caller may change what is theirs: names, address, sessions, and invites to them.
func mayChangeSelf(c access.Caller) bool {
	return c.Scope.Includes(access.All) && access.MaySeeSelf(c) == nil
}

// levels returns the levels that a user may give.
func levels(may func(access.Level) error) []client.Level {
	all := []client.Level{client.LevelMember, client.LevelAdmin, client.LevelOwner}
	return slices.DeleteFunc(all, func(l client.Level) bool { return may(access.Level(l)) != nil })
}

// LevelsFor returns the levels that a member of a level may be given, including that one.
func (o Offer) LevelsFor(present client.Level) []client.Level {
	own := o.Caller.Level
	return levels(func(l access.Level) error { return org.MayGive(o.Caller, own, access.Level(present), l) })
}

// Means says what members of a level may do.
func (o Offer) Means(l client.Level) string {
	if l == client.LevelOwner {
		return "All that admins may. Changes the organization's settings, and other owners."
	}
	if l == client.LevelAdmin {
		return "All that members may. Manages apps and sites, invites, members and their keys, up to admins, and sees all activity."
	}
	may := "Sees apps, sites, members and invites"
	if o.Caller.Organization.MembersCanManageApps {
		may += ", manages apps and sites"
	}
	if o.Caller.Organization.MembersCanInvite {
		may += ", invites members"
	}
	return may + "."
}

// sees reports whether a user may see a page, by its path below that of their organization.
func (o Offer) sees(page string) bool {
	switch page {
	case "/apps", "/apps/unused", "/sites", "/activity":
		return o.SeeApps
	case "/apps/new":
		return o.ChangeApps
	case "/apps/catalog": // the app is in the query
		return false
	case "/members", "/invites":
		return o.SeePeople
	case "/invites/new":
		return o.Invite
	case "/audit":
		return o.SeeAudit
	case "/keys":
		return o.SeeKeys
	case "/webhooks":
		return o.SeeWebhooks
	}
	return true
}

// Reaches reports whether the caller may change members of a level.
func (o Offer) Reaches(level client.Level) bool {
	return org.MayChange(o.Caller.Level, access.Level(level)) == nil
}

// Is reports whether a user is the viewer.
func (o Offer) Is(u client.User) bool { return u.ID == o.Caller.UserID }

// Leave reports whether the caller's key lets them leave.
func (o Offer) Leave() bool { return o.Caller.Scope.Includes(access.MemberWrite) }

// Withdraw reports whether the caller may withdraw an invite, or send it again.
func (o Offer) Withdraw(i client.Invite) bool { return i.Status != accepted && o.Forget(i) }

// Forget reports whether the caller may delete an invite, which may have been accepted.
func (o Offer) Forget(i client.Invite) bool {
	return o.Caller.Scope.Includes(access.MemberWrite) && invite.MayDelete(o.Caller, i.CreatedBy.ID) == nil
}
