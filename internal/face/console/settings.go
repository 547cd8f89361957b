package console

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
)

// Settings shows the settings of an organization, and lets owners change them.
type Settings struct {
	Frame
	client.OrganizationInfo
}

// Uses describes what the organization may do with apps.
func (p Settings) Uses() string {
	switch access.AppAccess(p.AccessLevel) {
	case access.RootApps:
		return "installs apps, and may share them with every organization"
	case access.InstallApps:
		return "installs apps"
	case access.ReadApps:
		return "sees its own apps and those that others share"
	case access.NoApps:
	}
	return "uses no apps"
}

// Installs reports whether anybody in the organization may change apps.
func (p Settings) Installs() bool { return access.AppAccess(p.AccessLevel) >= access.InstallApps }

// Domains returns the domains whose addresses may join, as they are typed.
func (p Settings) Domains() string { return strings.Join(p.AllowedDomains, ", ") }

const daySeconds = int64(oneDay / time.Second)

// InviteDays is how long invites live, in days; "": the server's default.
func (p Settings) InviteDays() string {
	if p.InviteTTL == nil {
		return ""
	}
	return inDays(*p.InviteTTL)
}

// inDays returns a duration in days, with four decimals at most.
func inDays(seconds int64) string {
	return strconv.FormatFloat(float64(seconds*1e4/daySeconds)/1e4, 'f', -1, 64)
}

// ofDays parses days into seconds: 0 for no text, and -1, which the API refuses, for a text that is no duration.
func ofDays(text string) int64 {
	if text == "" {
		return 0
	}
	days, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if seconds := math.Round(days * float64(daySeconds)); err == nil && seconds >= 1 && seconds < math.MaxInt32 {
		return int64(seconds)
	}
	return -1
}

func showSettings(v *visit) (markup.Page, error) {
	info, err := v.organization.Get(v.ctx())
	return markup.Fill("settings.html", Settings{v.frame("settings"), info}), err
}

func changeSettings(v *visit) (next, error) {
	patch := client.OrganizationPatch{
		Name: v.edited("name"), MembersCanInvite: v.editedBox("members_can_invite"), MembersCanManageApps: v.editedBox("members_can_manage_apps"),
	}
	if text := v.edited("allowed_domains"); text != nil {
		domains := strings.FieldsFunc(*text, func(r rune) bool { return strings.ContainsRune(commas+" ", r) })
		patch.AllowedDomains = &domains
	}
	if text := v.edited("invite_ttl"); text != nil {
		patch.InviteTTL = new(ofDays(*text))
	}
	before, err := v.organization.Get(v.ctx())
	if err != nil {
		return next{}, err
	}
	after, err := v.organization.Change(v.ctx(), patch)
	err = reword(err, "invite_ttl", "Must be a number of days, at most "+inDays(int64(v.console.InviteTTL/time.Second))+", or empty.")
	what := changedSettings(before, after)
	if len(what) == 0 {
		return next{flash: sentence("Nothing is changed: the settings of %s are as they were.", after.Name)}, err
	}
	return next{flash: sentence("The settings of %s are changed:", after.Name) + " " + strings.Join(what, ", ") + "."}, err
}

// changedSettings names the settings that a change has changed.
func changedSettings(before, after client.OrganizationInfo) (all []string) {
	add := func(same bool, what string) {
		if !same {
			all = append(all, what)
		}
	}
	add(before.Name == after.Name, "the name")
	add(before.MembersCanInvite == after.MembersCanInvite, "who may invite")
	add(before.MembersCanManageApps == after.MembersCanManageApps, "who may manage apps and sites")
	add(slices.Equal(before.AllowedDomains, after.AllowedDomains), "the domains of addresses")
	add(Settings{OrganizationInfo: before}.InviteDays() == Settings{OrganizationInfo: after}.InviteDays(), "the days until invites expire")
	return all
}
