package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
)

// AppendInvite returns a function that appends the contract's invite objects (section 2.2), as of now, to one text.
func AppendInvite(now time.Time) func([]byte, invite.Invite) []byte {
	var before struct { // the previous invite: most invites in a list have the same author
		createdBy org.User
		shown     []byte
	}
	return func(b []byte, i invite.Invite) []byte {
		b = wire.AppendField(append(b, '{'), "id", i.ID)
		b = wire.AppendField(b, "target_email", i.TargetEmail)
		b = wire.AppendField(b, "first_name", i.FirstName)
		b = wire.AppendBool(b, "emailing_attempt_made", i.EmailAttempted)
		b = wire.AppendInt(b, "level", int64(i.Level))
		b = wire.AppendBool(b, "is_expired", i.Expired(now))
		if b = wire.AppendName(b, "created_by"); before.shown != nil && before.createdBy == i.CreatedBy {
			b = append(b, before.shown...)
		} else {
			start := len(b)
			b = AppendUser(b, i.CreatedBy)
			before.createdBy, before.shown = i.CreatedBy, b[start:]
		}
		b = wire.AppendTime(b, "created_at", i.CreatedAt)
		b = wire.AppendTime(b, "updated_at", i.UpdatedAt)
		b = wire.AppendField(b, "message", i.Message)
		b = wire.AppendField(b, "status", string(i.Status(now)))
		b = wire.AppendTime(b, "accepted_at", i.AcceptedAt)
		b = wire.AppendField(append(wire.AppendName(b, "delivery"), '{'), "state", string(i.Mail.State))
		b = wire.AppendField(b, "detail", i.Mail.Reason)
		b = wire.AppendInt(b, "attempts", int64(i.Mail.Attempts))
		return append(wire.AppendTime(b, "at", i.Mail.At), "}}"...)
	}
}

// AppendUser appends the user object of the contract, section 2.2.
func AppendUser(b []byte, u org.User) []byte {
	b = wire.AppendInt(append(b, '{'), "id", u.ID)
	b = wire.AppendField(b, "uuid", u.UUID)
	b = wire.AppendField(b, "distinct_id", u.DistinctID)
	b = wire.AppendField(b, "first_name", u.FirstName)
	b = wire.AppendField(b, "last_name", u.LastName)
	b = wire.AppendField(b, "email", u.Email)
	b = wire.AppendBool(b, "is_email_verified", u.IsEmailVerified)
	return append(wire.AppendJSON(b, "hedgehog_config", "{}"), '}')
}

// appendUserOrNull appends "name": and a user, or null for none.
func appendUserOrNull(b []byte, name string, u org.User) []byte {
	if u.ID == 0 {
		return wire.AppendJSON(b, name, "")
	}
	return AppendUser(wire.AppendName(b, name), u)
}

// readInvite reads the request fields of the contract, section 2.2, and send_email.
func readInvite(o wire.Object) invite.Draft {
	return invite.Draft{
		TargetEmail: o.Text("target_email"),
		FirstName:   o.Text("first_name"),
		Level:       o.Choice("level"),
		Message:     o.Text("message"),
		SendEmail:   o.Bool("send_email"),
		ExpiresIn:   o.Int("expires_in"),
	}
}

func (a *API) listInvites(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	return find(a, readInviteFilter, a.Invites.Find, AppendInvite(a.Keys.Now()))(w, r, c)
}

func readInviteFilter(query url.Values) (f invite.Filter, err error) {
	var faults fault.List
	f.Search, err = readPersonSearch(query)
	faults.Add(err)
	if query.Has("status") {
		f.Statuses, err = invite.ParseStatuses(query.Get("status"))
		faults.Add(err)
	}
	if query.Has("delivery") {
		f.Delivery, err = invite.ParseDelivery(query.Get("delivery"))
		faults.Add(err)
	}
	if query.Has("level") {
		f.Level, err = access.ParseLevel("level", query.Get("level"))
		faults.Add(err)
	}
	if query.Has("id") {
		if f.ID = parsedUUID(query.Get("id")); f.ID == "" {
			faults.Add(fault.Field(fault.Invalid, "id", "Must be the id of an invite."))
		}
	}
	return f, faults.Err()
}

func (a *API) createInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	i, err := a.Invites.Create(r.Context(), c, readInvite(o))
	if err != nil {
		return err
	}
	return a.writeInvite(w, http.StatusCreated, i)
}

func (a *API) writeInvite(w http.ResponseWriter, status int, i invite.Invite) error {
	return wire.Write(w, status, func(b []byte) []byte { return AppendInvite(a.Keys.Now())(b, i) })
}

// inviteColumns are the columns of a table of invites. The first is required.
var inviteColumns = []string{"target_email", "first_name", "level", "message"}

// createInvites makes one invite for an object, or one for each item of an array or line of a table: all or none or,
// with partial, those that are valid.
func (a *API) createInvites(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	objects, many, err := wire.ReadObjects(w, r, invite.MaxBulk, inviteColumns...)
	if err != nil {
		return err
	}
	partly, err := isTrue(r.URL.Query(), "partial")
	if err != nil {
		return err
	}
	drafts := make([]invite.Draft, len(objects))
	for i, o := range objects {
		drafts[i] = readInvite(o.Value)
		drafts[i].Fault = o.Fault
	}
	switch {
	case partly:
		outcomes, err := a.Invites.CreatePartly(r.Context(), c, drafts)
		if err != nil {
			return err
		}
		return wire.WriteList(w, outcomes, appendOutcome(a.Keys.Now()))
	case many:
		invites, err := a.Invites.CreateBulk(r.Context(), c, drafts)
		if err != nil {
			return err
		}
		return wire.WriteList(w, invites, AppendInvite(a.Keys.Now()))
	}
	i, err := a.Invites.Create(r.Context(), c, drafts[0])
	if err != nil {
		return err
	}
	return a.writeInvite(w, http.StatusOK, i)
}

// appendOutcome returns a function that appends the new invite, or the error that says why there is none.
func appendOutcome(now time.Time) func([]byte, invite.Outcome) []byte {
	return func(b []byte, o invite.Outcome) []byte {
		b = append(b, '{')
		if o.Err != nil {
			b = wire.AppendError(wire.AppendName(b, "error"), o.Err)
		} else {
			b = AppendInvite(now)(wire.AppendName(b, "invite"), o.Invite)
		}
		return append(b, '}')
	}
}

func (a *API) deleteInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Invites.Delete(r.Context(), c, pathUUID(r, "id")); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}

func (a *API) resendInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	i, err := a.Invites.Resend(r.Context(), c, pathUUID(r, "id"))
	if err != nil {
		return err
	}
	return a.writeInvite(w, http.StatusOK, i)
}

func (a *API) linkInvite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	url, expires, err := a.Invites.Link(r.Context(), c, pathUUID(r, "id"))
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusOK, func(b []byte) []byte { return appendLink(b, url, expires) })
}

// appendLink appends the link of an invite or a preview, and its expiry.
func appendLink(b []byte, url string, expires time.Time) []byte {
	b = wire.AppendField(append(b, '{'), "url", url)
	return append(wire.AppendTime(b, "expires_at", expires), '}')
}

// pathID returns the id in the path, or 0, which names nothing, if it is malformed.
func pathID(r *http.Request, name string) int64 { return patch.ID(r.PathValue(name)) }

// pathUUID returns the UUID in the path, or "", which names nothing, if it is malformed. So bytes that are not text
// never reach the database.
func pathUUID(r *http.Request, name string) string { return parsedUUID(r.PathValue(name)) }

func parsedUUID(text string) string {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 { // uuid also takes braces, urn:uuid: and no hyphens
		return ""
	}
	return id.String()
}

// writeSecret is wire.Write for an answer that no cache may store.
func writeSecret(w http.ResponseWriter, status int, body func([]byte) []byte) error {
	w.Header().Set("Cache-Control", "no-store")
	return wire.Write(w, status, body)
}
