package signin

import (
	"cmp"
	"context"
	"errors"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/infra/db"
	"foyer/internal/infra/oidc"
)

// GuestTime is how long a guest may take to answer.
const GuestTime = 15 * time.Minute

// Entered is the result of signing in: a session or, for somebody who is not a user yet but has invites, a sealed
// Guest. Nothing is stored about a guest before they accept.
type Entered struct {
	Session string
	Guest   string
}

// Guest is somebody who has proved an address, and is not a user yet.
type Guest struct {
	Email  string        `json:"email"`
	Method access.Method `json:"method"`
	By     oidc.Claims   `json:"by"` // zero: by a link in a mail
	Until  time.Time     `json:"until"`
}

// The purposes that texts are sealed for.
const (
	flowUse  = "flow"
	guestUse = "guest"
	linkUse  = "link to a guest"
)

// invited seals a guest for a purpose, if there are invites to their address; "": there are none.
func (s Service) invited(ctx context.Context, q db.Querier, use string, g Guest) (sealed string, err error) {
	open, err := s.Invites.ToAddress(ctx, q, g.Email)
	if err != nil || len(open) == 0 {
		return "", err
	}
	return s.seal(use, g)
}

var errNoGuest = fault.New(fault.NotAuthenticated, "Your time to answer is over: sign in again.")

// Guest unseals a guest. It fails once they have signed out or are a user.
func (s Service) Guest(ctx context.Context, sealed string) (Guest, error) {
	return s.guest(ctx, s.DB, sealed)
}

func (s Service) guest(ctx context.Context, q db.Querier, sealed string) (Guest, error) {
	var g Guest
	if !s.unseal(guestUse, sealed, &g) || !s.DB.Now().Before(g.Until) {
		return Guest{}, errNoGuest
	}
	if gone, err := stateUsed(ctx, q, sealed); err != nil || gone {
		return Guest{}, cmp.Or(err, errNoGuest)
	}
	if _, err := s.Organizations.FindUser(ctx, q, g.Email); !fault.Is(err, fault.NotFound) {
		return Guest{}, cmp.Or(err, errNoGuest)
	}
	// They may have accepted meanwhile under another address that the provider had for them.
	if _, err := findIdentity(ctx, q, g.By); !errors.Is(err, db.ErrNoRow) {
		return Guest{}, cmp.Or(err, errNoGuest)
	}
	return g, nil
}

// EndGuest signs a guest out. It does nothing for somebody who is no longer a guest.
func (s Service) EndGuest(ctx context.Context, sealed string) error {
	g, err := s.Guest(ctx, sealed)
	if errors.Is(err, errNoGuest) {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		return insertState(ctx, tx, sealed, g.Until)
	})
	if errors.Is(err, db.ErrUnique) {
		return nil // signed out by another request at the same time
	}
	return err
}

// GuestInvites unseals a guest, and returns the invites that they can answer, the newest first.
func (s Service) GuestInvites(ctx context.Context, sealed string) (Guest, []invite.Opened, error) {
	g, err := s.Guest(ctx, sealed)
	if err != nil {
		return Guest{}, nil, err
	}
	open, err := s.Invites.ToAddress(ctx, s.DB, g.Email)
	return g, open, err
}

// AcceptAsGuest makes a guest a user and a member by one of their invites, and signs them in.
func (s Service) AcceptAsGuest(ctx context.Context, sealed, inviteID string, names invite.Names, d access.SessionDraft) (session string, err error) {
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		d := d
		g, err := s.guest(ctx, tx, sealed)
		if err != nil {
			return err
		}
		m, err := s.Invites.AcceptAs(ctx, tx, g.Email, inviteID, names, s.Keys.By(d, 0))
		if err != nil {
			return err
		}
		if g.By.Subject != "" {
			if err := s.link(ctx, tx, g.By, m.User.ID, s.Keys.By(d, 0)); err != nil {
				return err
			}
		}
		d.UserID, d.Method = m.User.ID, g.Method
		session, err = s.enter(ctx, tx, d, true)
		return err
	})
	return session, err
}

// DeclineAsGuest removes one of a guest's invites.
func (s Service) DeclineAsGuest(ctx context.Context, sealed, inviteID string, d access.SessionDraft) error {
	g, err := s.Guest(ctx, sealed)
	if err != nil {
		return err
	}
	return s.Invites.DeclineAs(ctx, g.Email, inviteID, s.Keys.By(d, 0))
}

// linkSize is the length of the token of a link to a user; those to guests are longer.
const linkSize = 52

func (s Service) openGuestLink(ctx context.Context, q db.Querier, token string) (Guest, error) {
	var g Guest
	if !s.unseal(linkUse, token, &g) {
		return Guest{}, access.ErrNotFound
	}
	switch used, err := stateUsed(ctx, q, token); {
	case err != nil:
		return Guest{}, err
	case used:
		return Guest{}, access.ErrNotFound
	case !s.DB.Now().Before(g.Until):
		return g, errExpired
	}
	return g, nil
}

// useGuestLink uses, once, a link for somebody who was not a user when it was mailed.
func (s Service) useGuestLink(ctx context.Context, token string, d access.SessionDraft) (in Entered, err error) {
	if _, err := s.openGuestLink(ctx, s.DB, token); err != nil {
		return Entered{}, err
	}
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		in = Entered{}
		g, err := s.openGuestLink(ctx, tx, token)
		if err != nil {
			return err
		}
		if err := insertState(ctx, tx, token, g.Until); err != nil {
			return err
		}
		user, err := s.Organizations.FindUser(ctx, tx, g.Email)
		if fault.Is(err, fault.NotFound) {
			g.Until = s.DB.Now().Add(GuestTime)
			if in.Guest, err = s.invited(ctx, tx, guestUse, g); err == nil && in.Guest == "" {
				return fault.New(fault.Denied, "The invitation was withdrawn or has expired: ask its sender.")
			}
			return err
		}
		if err != nil {
			return err
		}
		d.UserID = user.ID
		in.Session, err = s.enter(ctx, tx, d, true)
		return err
	})
	return in, err
}
