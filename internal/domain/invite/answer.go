package invite

import (
	"cmp"
	"context"
	"errors"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// Opened is an invite as the holder of its link sees it.
type Opened struct {
	Invite
	Organization org.Organization
	KnownUser    bool // the address belongs to a user, who keeps their names

	channel channel
}

// Names are the names that an invitee gives when accepting.
type Names struct {
	FirstName patch.Field[string] // absent: as the inviter wrote
	LastName  patch.Field[string]
}

// check returns a new user with the names.
func (n Names) check(i Invite) (org.User, error) {
	var faults fault.List
	if !n.FirstName.Set {
		n.FirstName = patch.Of(i.FirstName)
	}
	first, err := org.CheckFirstName(n.FirstName)
	faults.Add(err)
	last, err := org.CheckLastName(n.LastName)
	faults.Add(err)
	return org.User{Email: i.TargetEmail, FirstName: first, LastName: last}, faults.Err()
}

// Accepted is the result of accepting an invite.
type Accepted struct {
	User         org.User
	Organization org.Organization
	Level        access.Level
	APIKey       string // shown this once; "": none was made
	Scope        access.Scope
	Session      string // that signs the browser in; "": none
}

// Open returns the invite behind a link. If the invite can no longer be answered, because it has expired or its inviter
// may no longer invite at its level, Open returns it with the fault, so that a page can say whom to ask.
func (s Service) Open(ctx context.Context, token string) (Opened, error) {
	return s.open(ctx, s.DB, token)
}

func (s Service) open(ctx context.Context, q db.Querier, token string) (Opened, error) {
	t, ok := readToken(token)
	if !ok {
		return Opened{}, access.ErrNotFound
	}
	i, err := findAnywhere(ctx, q, t.id.String())
	if err != nil {
		return Opened{}, access.OrNotFound(err)
	}
	via, ok := s.Links.verify(t, i.Issue)
	if !ok {
		return Opened{}, access.ErrNotFound
	}
	o, err := s.opened(ctx, q, i, via)
	if fault.Is(err, fault.Denied) {
		// Somebody may have accepted it between our two queries, and become a user.
		if _, gone := findAnywhere(ctx, q, i.ID); gone != nil {
			return Opened{}, access.OrNotFound(gone)
		}
	}
	return o, err
}

// opened returns an invite as the holder of a link to it sees it, with the fault, if any, that keeps them from
// answering it.
func (s Service) opened(ctx context.Context, q db.Querier, i Invite, via channel) (Opened, error) {
	o := Opened{Invite: i, channel: via}
	var err error
	if o.Organization, err = org.Find(ctx, q, i.OrganizationID); err != nil {
		return Opened{}, err
	}
	if o.KnownUser, err = userExists(ctx, q, i.TargetEmail); err != nil {
		return Opened{}, err
	}
	return o, s.answerable(ctx, q, o)
}

// IsKnownUser reports whether an invite cannot be answered only because its link was passed on by hand and the address
// belongs to a user, who can sign in and answer it.
func IsKnownUser(err error) bool { return errors.Is(err, errKnownUser) }

var errKnownUser = fault.New(fault.Denied, "The address belongs to a user: sign in, or ask for a link by mail. A link that was passed on by hand does not prove who you are.")

var errInviter = fault.New(fault.Denied, "The sender of the invitation may no longer invite at this level: ask an admin of the organization.")

// answerable returns why an invite cannot be answered, or nil.
func (s Service) answerable(ctx context.Context, q db.Querier, o Opened) error {
	if o.Expired(s.DB.Now()) {
		return fault.New(fault.Expired, "The invitation has expired: ask its sender to send it again.")
	}
	level, err := levelOf(ctx, q, o.OrganizationID, o.CreatedBy.ID)
	if err != nil {
		return err
	}
	member := false
	if o.KnownUser {
		if member, err = isMember(ctx, q, o.OrganizationID, o.TargetEmail); err != nil {
			return err
		}
	}
	switch {
	case member:
		return fault.New(fault.Denied, "%s is a member of the organization already.", o.TargetEmail)
	case level < o.Level: // 0: not a member any more
		return errInviter
	case !o.Organization.Admits(o.TargetEmail):
		return fault.New(fault.Denied, "The organization no longer takes members with an address like this: ask an admin of it.")
	case o.channel == handed && o.KnownUser:
		return errKnownUser
	}
	return nil
}

// Accept makes the holder of a link a member, and a user if their address is new. If several try at the same time, one
// succeeds; the others find no invite.
func (s Service) Accept(ctx context.Context, token string, names Names, by access.Caller) (Accepted, error) {
	return s.accept(ctx, token, names, by, func(ctx context.Context, tx *db.Tx, o Opened, a *Accepted) error {
		_, err := s.firstKey(ctx, tx, by, o, a)
		return err
	})
}

// SignInMethods are the ways to sign in to the console.
type SignInMethods struct{ Mail, Provider, Key bool }

// needsKey reports whether the invitee has no other way to sign in than a key.
func (o Opened) needsKey(methods SignInMethods) bool {
	return o.channel != mailed || !methods.Mail && !methods.Provider
}

// SignsIn reports whether AcceptInBrowser begins a session.
func (o Opened) SignsIn(methods SignInMethods) bool {
	if o.needsKey(methods) {
		return methods.Key
	}
	return methods.Mail && !o.KnownUser
}

// AcceptInBrowser is Accept for somebody who goes on in the console. They get a key only if they have no other way to
// sign in: a mailed link signs a new user in, as a sign-in link does. A user who existed before signs in as always,
// since the link does not prove enough for all of their organizations.
func (s Service) AcceptInBrowser(ctx context.Context, token string, names Names, d access.SessionDraft, methods SignInMethods) (Accepted, error) {
	return s.accept(ctx, token, names, s.Keys.By(d, 0), func(ctx context.Context, tx *db.Tx, o Opened, a *Accepted) (err error) {
		d := d
		d.UserID, d.Method = a.User.ID, access.ByMail
		if o.needsKey(methods) {
			d.Method = access.ByKey
			if d.KeyID, err = s.firstKey(ctx, tx, s.Keys.By(d, 0), o, a); err != nil {
				return err
			}
		}
		if !o.SignsIn(methods) {
			return nil
		}
		a.Session, err = s.Keys.InsertSession(ctx, tx, d)
		return err
	})
}

// firstKey makes the key of a new member.
func (s Service) firstKey(ctx context.Context, tx *db.Tx, by access.Caller, o Opened, a *Accepted) (id int64, err error) {
	a.APIKey, a.Scope = access.NewKey(), scopeOf(a.Level, o.Organization)
	by.UserID = a.User.ID
	made, err := s.Keys.Insert(ctx, tx, by, access.Draft{UserID: a.User.ID, OrganizationID: o.OrganizationID, Scope: a.Scope}, a.APIKey)
	return made.ID, err
}

func (s Service) accept(
	ctx context.Context, token string, names Names, by access.Caller, admit func(context.Context, *db.Tx, Opened, *Accepted) error,
) (Accepted, error) {
	o, err := s.Open(ctx, token) // so that a wrong link costs no transaction
	draft, wrong := names.check(o.Invite)
	if err := cmp.Or(wrong, err); err != nil {
		return Accepted{}, err
	}
	var a Accepted
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		o, err := s.open(ctx, tx, token)
		if err != nil {
			return err
		}
		if err := s.useUp(ctx, tx, &o); err != nil {
			return err
		}
		draft.IsEmailVerified = o.channel == mailed
		m, err := s.join(ctx, tx, o, draft, by)
		if err != nil {
			return err
		}
		a = Accepted{User: m.User, Organization: o.Organization, Level: m.Level}
		return admit(ctx, tx, o, &a)
	})
	if err != nil {
		return Accepted{}, err
	}
	return a, nil
}

// scopeOf returns what a new member's first key can do: all that the level can use.
func scopeOf(level access.Level, in org.Organization) access.Scope {
	switch {
	case level >= access.Admin:
		return access.All
	case in.MembersCanManageApps:
		return access.PluginWrite | access.MemberWrite
	}
	return access.PluginRead | access.MemberWrite
}

// Decline removes the invite behind a link.
func (s Service) Decline(ctx context.Context, token string, by access.Caller) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		o, err := s.open(ctx, tx, token)
		if err != nil {
			return err
		}
		return s.decline(ctx, tx, by, o)
	})
}
