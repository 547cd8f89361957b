package api

import (
	"net/http"

	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
)

// showInvite answers with the part of an invite that the holder of its link may know.
func (a *API) showInvite(w http.ResponseWriter, r *http.Request, _ access.Caller) error {
	o, err := a.Invites.Open(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusOK, func(b []byte) []byte { return append(appendOpened(append(b, '{'), o), '}') })
}

// appendOpened appends the part of an invite that the person invited may know.
func appendOpened(b []byte, o invite.Opened) []byte {
	b = wire.AppendField(b, "target_email", o.TargetEmail)
	b = wire.AppendField(b, "first_name", o.FirstName)
	b = wire.AppendField(b, "organization_name", o.Organization.Name)
	b = wire.AppendInt(b, "level", int64(o.Level))
	b = appendInviter(wire.AppendName(b, "invited_by"), o.CreatedBy)
	return wire.AppendTime(b, "expires_at", o.ExpiresAt)
}

func appendOwnInvite(b []byte, o invite.Opened) []byte {
	b = appendOpened(wire.AppendField(append(b, '{'), "id", o.ID), o)
	return append(wire.AppendField(b, "message", o.Message), '}')
}

func (a *API) acceptOwnInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxSignupBody)
	if err != nil {
		return err
	}
	token := o.Text("token")
	if token.Fault != nil {
		return token.Fault
	}
	joined, err := a.Invites.AcceptMine(r.Context(), c, pathUUID(r, "id"), token.Value)
	if err != nil {
		return err
	}
	return writeOrganization(w, joined)
}

func (a *API) declineOwnInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Invites.DeclineMine(r.Context(), c, pathUUID(r, "id"), ""); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}

func appendInviter(b []byte, u org.User) []byte {
	b = wire.AppendField(append(b, '{'), "first_name", u.FirstName)
	b = wire.AppendField(b, "last_name", u.LastName)
	return append(wire.AppendField(b, "email", u.Email), '}')
}

func (a *API) acceptInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxSignupBody)
	if err != nil {
		return err
	}
	names := invite.Names{FirstName: o.Text("first_name"), LastName: o.Text("last_name")}
	made, err := a.Invites.Accept(r.Context(), r.PathValue("token"), names, c)
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusCreated, func(b []byte) []byte {
		b = AppendUser(wire.AppendName(append(b, '{'), "user"), made.User)
		b = appendOrganization(wire.AppendName(b, "organization"), org.Mine{Organization: made.Organization, Level: made.Level})
		b = wire.AppendInt(b, "level", int64(made.Level))
		return append(wire.AppendField(b, "api_key", made.APIKey), '}')
	})
}

func (a *API) declineInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Invites.Decline(r.Context(), r.PathValue("token"), c); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}
