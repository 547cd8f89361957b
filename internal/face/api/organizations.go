package api

import (
	"net/http"
	"net/url"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
)

// appendOrganization appends an organization as one of its members sees it.
func appendOrganization(b []byte, o org.Mine) []byte {
	b = wire.AppendField(append(b, '{'), "id", o.ID)
	b = wire.AppendField(b, "name", o.Name)
	b = wire.AppendInt(b, "level", int64(o.Level))
	b = wire.AppendInt(b, "access_level", int64(o.AppAccess))
	b = wire.AppendBool(b, "members_can_invite", o.MembersCanInvite)
	b = wire.AppendBool(b, "members_can_manage_apps", o.MembersCanManageApps)
	b = wire.AppendStrings(b, "allowed_domains", o.AllowedDomains)
	b = wire.AppendTime(b, "created_at", o.CreatedAt)
	return append(wire.AppendIntOrNull(b, "invite_ttl", o.InviteTTL), '}')
}

// AppendMember appends a member. The id is the user's UUID, which paths contain.
func AppendMember(b []byte, m org.Membership) []byte {
	b = wire.AppendField(append(b, '{'), "id", m.User.UUID)
	b = AppendUser(wire.AppendName(b, "user"), m.User)
	b = wire.AppendInt(b, "level", int64(m.Level))
	b = wire.AppendTime(b, "joined_at", m.JoinedAt)
	b = wire.AppendTime(b, "updated_at", m.UpdatedAt)
	b = wire.AppendTime(b, "last_active_at", m.LastActiveAt)
	b = wire.AppendName(b, "invited_by")
	if m.InvitedBy == (org.Inviter{}) {
		return append(b, "null}"...)
	}
	b = wire.AppendField(append(b, '{'), "uuid", m.InvitedBy.UUID)
	b = wire.AppendField(b, "first_name", m.InvitedBy.FirstName)
	b = wire.AppendField(b, "last_name", m.InvitedBy.LastName)
	return append(wire.AppendField(b, "email", m.InvitedBy.Email), "}}"...)
}

// readMemberFilter reads the filter of members and refuses invalid values.
func readMemberFilter(query url.Values) (f org.MemberFilter, err error) {
	var faults fault.List
	f.Search, err = readPersonSearch(query)
	faults.Add(err)
	if query.Has("level") {
		f.Level, err = access.ParseLevel("level", query.Get("level"))
		faults.Add(err)
	}
	return f, faults.Err()
}

func (a *API) getMember(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	m, err := a.Organizations.FindMember(r.Context(), c, pathUUID(r, "user_uuid"))
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return AppendMember(b, m) })
}

func (a *API) getOrganization(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := a.Organizations.Here(r.Context(), c)
	if err != nil {
		return err
	}
	return writeOrganization(w, o)
}

func writeOrganization(w http.ResponseWriter, o org.Mine) error {
	return wire.WriteWithETag(w, http.StatusOK, organizationETag(o.Organization), func(b []byte) []byte { return appendOrganization(b, o) })
}

func (a *API) updateOrganization(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	before, err := a.Organizations.Get(r.Context(), c.Organization.ID)
	if err != nil {
		return err
	}
	set, err := a.readSettings(o, before)
	if err != nil {
		return err
	}
	changed, err := a.Organizations.SetHere(r.Context(), c, set)
	if err != nil {
		return err
	}
	return writeOrganization(w, changed)
}

// readSettings reads the settings that owners may change. Only the operator changes access_level.
func (a *API) readSettings(o wire.Object, before org.Organization) (org.Settings, error) {
	var set org.Settings
	var faults fault.List
	take(&faults, "name", o.Text("name"), &set.Name)
	take(&faults, "members_can_invite", o.Bool("members_can_invite"), &set.MembersCanInvite)
	take(&faults, "members_can_manage_apps", o.Bool("members_can_manage_apps"), &set.MembersCanManageApps)
	take(&faults, "allowed_domains", o.Texts("allowed_domains"), &set.AllowedDomains)
	switch ttl := o.Int("invite_ttl"); {
	case ttl.Fault != nil:
		faults.Add(ttl.Fault)
	case ttl.Set && !ttl.Null && ttl.Value == 0: // 0 stands for null internally
		faults.Add(fault.Field(fault.Invalid, "invite_ttl", "Must be at least 60 seconds, or null for the server's default."))
	case ttl.Set:
		set.InviteTTL = &ttl.Value
	}
	faults.Add(a.Organizations.CheckSettings(before, set)) // what is wrong with those that could be read
	return set, faults.Err()
}

// take stores the value of a field, which must not be null.
func take[T any](faults *fault.List, name string, f patch.Field[T], set **T) {
	if err := f.Check(name); err != nil {
		faults.Add(err)
	} else if f.Set {
		*set = &f.Value
	}
}

func (a *API) updateMember(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	m, err := a.Organizations.ChangeLevel(r.Context(), c, pathUUID(r, "user_uuid"), o.Choice("level"))
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return AppendMember(b, m) })
}

func (a *API) deleteMember(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Organizations.Expel(r.Context(), c, pathUUID(r, "user_uuid")); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}
