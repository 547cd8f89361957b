package invite

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// maxToAddress is how many invites to an address are shown at most.
const maxToAddress = 100

// ToAddress returns the invites to an address that can be answered now, the newest first. It is for somebody who has
// proved the address.
func (s Service) ToAddress(ctx context.Context, q db.Querier, email string) ([]Opened, error) {
	all, err := toAddress(ctx, q, email, maxToAddress)
	if err != nil {
		return nil, err
	}
	open := []Opened{}
	for _, i := range all {
		o, err := s.opened(ctx, q, i, mailed)
		switch {
		case err == nil:
			open = append(open, o)
		case fault.IsOurs(err):
			return nil, err
		}
	}
	return open, nil
}

// Mine returns a page of the invites to the caller's own address, if it is verified.
func (s Service) Mine(ctx context.Context, c access.Caller, p page.Page) (page.Found[Opened], error) {
	u, err := s.orgs().Self(ctx, c)
	if err != nil || !u.IsEmailVerified {
		return page.Found[Opened]{}, err
	}
	all, err := s.ToAddress(ctx, s.DB, u.Email)
	if err != nil {
		return page.Found[Opened]{}, err
	}
	from := min(p.Offset, len(all))
	return page.Counted(all[from:min(from+p.Limit, len(all))], p, len(all)), nil
}

// AcceptMine makes the caller a member by an invite to their own address. If the address is not verified, this needs
// the token of the invite's link, too; "": no token.
func (s Service) AcceptMine(ctx context.Context, c access.Caller, id, token string) (org.Mine, error) {
	if err := access.MaySeeSelf(c); err != nil {
		return org.Mine{}, err
	}
	var joined org.Mine
	err := s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := access.ConfirmSelf(ctx, tx, c, s.DB.Now()); err != nil {
			return err
		}
		o, err := s.findMine(ctx, tx, c, id, token)
		if err != nil {
			return err
		}
		if err := s.useUp(ctx, tx, &o); err != nil {
			return err
		}
		if err := s.prove(ctx, tx, c, o); err != nil {
			return err
		}
		m, err := s.orgs().InsertMember(ctx, tx, c, joining(o, org.User{Email: o.TargetEmail}))
		if err != nil {
			return err
		}
		joined = org.Mine{Organization: o.Organization, Level: m.Level}
		if err := access.KeepAnswer(ctx, tx, joined); err != nil {
			return err
		}
		return s.accepted(ctx, tx, c, o)
	})
	return joined, err
}

// prove marks the caller's address as verified if they have the link that was mailed to it.
func (s Service) prove(ctx context.Context, tx *db.Tx, c access.Caller, o Opened) error {
	if o.channel != mailed {
		return nil
	}
	return s.orgs().VerifyOwnEmail(ctx, tx, c.UserID)
}

// DeclineMine removes an invite to the caller's own address, with the token of its link where AcceptMine needs it.
func (s Service) DeclineMine(ctx context.Context, c access.Caller, id, token string) error {
	if err := access.MaySeeSelf(c); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := access.ConfirmSelf(ctx, tx, c, s.DB.Now()); err != nil {
			return err
		}
		o, err := s.findMine(ctx, tx, c, id, token)
		if err != nil {
			return err
		}
		return s.decline(ctx, tx, c, o)
	})
}

// findMine finds an invite that the caller may answer.
func (s Service) findMine(ctx context.Context, tx *db.Tx, c access.Caller, id, token string) (Opened, error) {
	u, err := org.UserByID(ctx, tx, c.UserID)
	if err != nil {
		return Opened{}, err
	}
	if u.IsEmailVerified {
		return s.findTo(ctx, tx, u.Email, id)
	}
	if t, ok := readToken(token); !ok || t.id.String() != id {
		return Opened{}, access.ErrNotFound
	}
	byLink, err := s.open(ctx, tx, token)
	if byLink.ID == "" || err != nil && !IsKnownUser(err) {
		return Opened{}, err
	}
	o, err := s.findTo(ctx, tx, u.Email, id)
	o.channel = byLink.channel
	return o, err
}

// findTo finds an invite to an address.
func (s Service) findTo(ctx context.Context, q db.Querier, email, id string) (Opened, error) {
	i, err := findAnywhere(ctx, q, id)
	if err != nil {
		return Opened{}, access.OrNotFound(err)
	}
	if i.TargetEmail != email {
		return Opened{}, access.ErrNotFound
	}
	return s.opened(ctx, q, i, mailed)
}

// AcceptAs makes somebody who has proved an address a user and a member, inside Keys.Change.
func (s Service) AcceptAs(ctx context.Context, tx *db.Tx, email, id string, names Names, by access.Caller) (org.Membership, error) {
	o, err := s.findTo(ctx, tx, email, id)
	if err != nil {
		return org.Membership{}, err
	}
	draft, err := names.check(o.Invite)
	if err != nil {
		return org.Membership{}, err
	}
	if err := s.useUp(ctx, tx, &o); err != nil {
		return org.Membership{}, err
	}
	draft.IsEmailVerified = true
	return s.join(ctx, tx, o, draft, by)
}

// DeclineAs removes an invite to an address that somebody has proved.
func (s Service) DeclineAs(ctx context.Context, email, id string, by access.Caller) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		o, err := s.findTo(ctx, tx, email, id)
		if err != nil {
			return err
		}
		return s.decline(ctx, tx, by, o)
	})
}

// join makes a member, and a user if the address is new, by an invite that is used up.
func (s Service) join(ctx context.Context, tx *db.Tx, o Opened, draft org.User, by access.Caller) (org.Membership, error) {
	m, err := s.orgs().Join(ctx, tx, by, joining(o, draft))
	if err != nil {
		return org.Membership{}, err
	}
	by.UserID = m.User.ID
	return m, s.accepted(ctx, tx, by, o)
}

// joining returns who becomes a member by an invite.
func joining(o Opened, draft org.User) org.Joining {
	return org.Joining{OrganizationID: o.OrganizationID, User: draft, Level: o.Level, InviterID: o.CreatedBy.ID}
}

// accepted keeps an accepted invite for a time, and records that.
func (s Service) accepted(ctx context.Context, tx *db.Tx, by access.Caller, o Opened) error {
	o.AcceptedAt = s.DB.Now()
	if err := keepAccepted(ctx, tx, o.Invite, o.AcceptedAt, by.UserID); err != nil {
		return err
	}
	return s.record(ctx, tx, by, o.Invite, activity.Accepted, o.AcceptedAt)
}

// useUp removes an invite that is answered: of several transactions, one succeeds. Its mail may have been sent since it
// was read.
func (s Service) useUp(ctx context.Context, tx *db.Tx, o *Opened) (err error) {
	if o.Invite, err = removeIssue(ctx, tx, o.Invite); err != nil {
		return access.OrNotFound(err)
	}
	addCount(tx, o.OrganizationID, -1)
	return nil
}

// decline reads the invite once more, since the entry shows its inviter, and locks both.
func (s Service) decline(ctx context.Context, tx *db.Tx, by access.Caller, o Opened) error {
	i, err := findLocked(ctx, tx, o.OrganizationID, o.ID)
	if err != nil {
		return access.OrNotFound(err)
	}
	if err := s.useUp(ctx, tx, &o); err != nil {
		return err
	}
	return s.record(ctx, tx, by, i, activity.Declined, s.DB.Now())
}
