package api

import (
	"net/http"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
)

func (a *API) getSelf(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	u, err := a.Organizations.Self(r.Context(), c)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return AppendUser(b, u) })
}

// appendKey appends a key without its secret.
func appendKey(b []byte, k access.Key) []byte { return append(appendKeyFields(append(b, '{'), k), '}') }

func appendKeyFields(b []byte, k access.Key) []byte {
	b = wire.AppendInt(b, "id", k.ID)
	b = wire.AppendStrings(b, "scopes", k.Scope.Names())
	b = wire.AppendField(b, "organization_id", k.OrganizationID)
	b = wire.AppendTime(b, "created_at", k.CreatedAt)
	b = wire.AppendTime(b, "expires_at", k.ExpiresAt)
	b = wire.AppendTime(b, "last_used_at", k.LastUsedAt)
	b = wire.AppendField(b, "name", k.Name)
	return wire.AppendField(b, "prefix", k.Prefix)
}

// appendMemberKey appends a key as admins of an organization see it.
func appendMemberKey(b []byte, k access.MemberKey) []byte {
	b = appendKeyFields(append(b, '{'), k.Key)
	b = append(wire.AppendName(b, "user"), '{')
	b = wire.AppendField(b, "uuid", k.UserUUID)
	return append(wire.AppendField(b, "email", k.UserEmail), "}}"...)
}

func (a *API) updateSelf(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	u, err := a.Addresses.ChangeSelf(r.Context(), c, org.SelfPatch{Email: o.Text("email"), FirstName: o.Text("first_name"), LastName: o.Text("last_name")})
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return AppendUser(b, u) })
}

func (a *API) createKey(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	draft, err := readKey(o)
	if err != nil {
		return err
	}
	made, key, err := a.Keys.CreateOwn(r.Context(), c, draft)
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusCreated, func(b []byte) []byte {
		return append(wire.AppendField(appendKeyFields(append(b, '{'), made), "key", key), '}')
	})
}

// lastYear is the last year that a time in the API can have.
const lastYear = 9999

// readTime reads a time in the format of RFC 3339, which allows t and z for T and Z.
func readTime(text string) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	at = at.UTC()
	return at, err == nil && at.Year() >= 1 && at.Year() <= lastYear && !at.IsZero() // the zero time stands for none
}

func readKey(o wire.Object) (access.OwnDraft, error) {
	var d access.OwnDraft
	var faults fault.List
	switch names := o.Texts("scopes"); {
	case !names.Set:
		faults.Add(fault.Field(fault.Required, "scopes", "Must be given: a list of scopes, like [\"plugin:read\"]."))
	case names.Check("scopes") != nil:
		faults.Add(names.Check("scopes"))
	default:
		scope, err := access.ParseScopes(names.Value)
		faults.Add(err)
		d.Scope = scope
	}
	organization := o.Text("organization_id")
	faults.Add(organization.Fault)
	d.OrganizationID = organization.Value
	d.Name = o.Text("name")
	faults.Add(d.CheckName())
	expires := o.Text("expires_at")
	if expires.Fault != nil {
		faults.Add(expires.Fault)
	} else if expires.Set && !expires.Null {
		at, ok := readTime(expires.Value)
		if !ok {
			faults.Add(fault.Field(fault.Invalid, "expires_at", "Must be a time like 2030-01-31T12:00:00Z."))
		}
		d.ExpiresAt = patch.Of(at)
	}
	return d, faults.Err()
}
