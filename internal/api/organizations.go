package api

import (
	"net/http"

	"foyer/internal/access"
	"foyer/internal/org"
	"foyer/internal/wire"
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
	return append(wire.AppendTime(b, "created_at", o.CreatedAt), '}')
}

// appendMember appends a member. Their id is their user's uuid, which paths name.
func appendMember(b []byte, m org.Membership) []byte {
	b = wire.AppendField(append(b, '{'), "id", m.User.UUID)
	b = AppendUser(wire.AppendName(b, "user"), m.User)
	b = wire.AppendInt(b, "level", int64(m.Level))
	b = wire.AppendTime(b, "joined_at", m.JoinedAt)
	return append(wire.AppendTime(b, "updated_at", m.UpdatedAt), '}')
}

func (a *API) getOrganization(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := a.Organizations.Here(r.Context(), c)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return appendOrganization(b, o) })
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
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return appendMember(b, m) })
}

func (a *API) deleteMember(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Organizations.Expel(r.Context(), c, pathUUID(r, "user_uuid")); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}
