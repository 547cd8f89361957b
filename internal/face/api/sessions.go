package api

import (
	"net/http"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// sessionFields returns a function that appends a session as the caller sees it.
func sessionFields(c access.Caller) func([]byte, access.Session) []byte {
	return func(b []byte, s access.Session) []byte {
		b = wire.AppendInt(append(b, '{'), "id", s.ID)
		b = wire.AppendField(b, "method", string(s.Method))
		b = wire.AppendTime(b, "created_at", s.CreatedAt)
		b = wire.AppendTime(b, "last_used_at", s.LastUsedAt)
		b = wire.AppendTime(b, "expires_at", s.ExpiresAt())
		b = wire.AppendField(b, "address", s.Address)
		b = wire.AppendField(b, "user_agent", s.UserAgent)
		return append(wire.AppendBool(b, "current", s.ID == c.SessionID), '}')
	}
}

// sessionETag is the same whether or not the session is the caller's current one.
func sessionETag(s access.Session) wire.ETag {
	return wire.ETagOf(sessionFields(access.Caller{})(nil, s))
}

func (a *API) listSessions(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	return list(a, a.Keys.OwnSessions, sessionFields(c))(w, r, c)
}

func (a *API) getSession(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	s, err := a.Keys.OwnSession(r.Context(), c, pathID(r, "id"))
	if err != nil {
		return err
	}
	return wire.WriteWithETag(w, http.StatusOK, sessionETag(s), func(b []byte) []byte { return sessionFields(c)(b, s) })
}

func (a *API) deleteSessions(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Addresses.EndSessions(r.Context(), c); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}

// requestSignIn queues a mail with a sign-in link, and gives the same answer for every address.
func (a *API) requestSignIn(w http.ResponseWriter, r *http.Request, _ access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxSignupBody)
	if err != nil {
		return err
	}
	email := o.Text("email")
	if err := email.Check("email"); err != nil {
		return err
	}
	if !email.Set {
		return fault.Field(fault.Required, "email", "Must be given: the address of the user who wants to sign in.")
	}
	if err := a.LimitPeer(w, r); err != nil { // anyone may ask, for any address: each request counts
		return err
	}
	if err := a.SignIn.Ask(r.Context(), email.Value, a.ClientNetwork(r)); err != nil {
		return err
	}
	return wire.Write(w, http.StatusAccepted, func(b []byte) []byte { return append(b, "{}"...) })
}
