// Package addresschange lets users change their own address: a link mailed to the new address confirms the change, and
// a link mailed to the old one can undo it for a time.
package addresschange

import (
	"context"
	"crypto/rand"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/domain/signin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/quota"
)

const (
	// linkTime is how long the link to a new address works.
	linkTime = 24 * time.Hour
	// kept is how long a change is stored, so that a link to it can be answered as expired.
	kept = linkTime + 2*org.AddressHeld

	// maxAsked is how many changes a user may ask for in an hour.
	maxAsked = 5
)

// Service changes the addresses of users.
type Service struct {
	DB            *db.DB
	Keys          *access.Keys
	Jobs          *job.Queue
	Organizations org.Service
	SignIn        signin.Service
	BaseURL       string   // what links start with, without a slash at the end
	Mails         bool     // there is a mail server
	MailLimit     int      // mails a day to an address; 0: none
	Box           seal.Box // makes links: none is stored
}

// Change is a change of a user's address, which is made once its link is followed.
type Change struct {
	OldEmail string
	NewEmail string
	Undo     bool // the link undoes the change
	Done     bool

	id        string
	userID    int64
	sessionID int64
	createdAt time.Time
	changedAt time.Time
	current   bool // it can still be confirmed or, if it is done, the user's address still comes from it or a later change
}

// ChangeSelf changes the names of the caller's user. A new address is mailed a link, and becomes theirs once the link
// is followed; the old address gets a mail, too.
func (s Service) ChangeSelf(ctx context.Context, c access.Caller, p org.SelfPatch) (org.User, error) {
	u, err := s.Organizations.ChangeSelf(ctx, c, p, func(ctx context.Context, tx *db.Tx, u org.User, email string) error {
		return s.ask(ctx, tx, c, u, email)
	})
	if err == nil {
		s.Jobs.Wake()
	}
	return u, err
}

// ask stores a change and has mails sent about it. It reveals no user whom the caller cannot see: only the mail to the
// address says whether it belongs to somebody else.
func (s Service) ask(ctx context.Context, tx *db.Tx, c access.Caller, u org.User, email string) error {
	if !s.Mails {
		return fault.New(fault.Denied, "This server has no mail server to confirm another address with: ask its operator to change yours.")
	}
	now := s.DB.Now()
	if err := quota.Count(ctx, tx, "address changes", u.UUID, 1, maxAsked, now, time.Hour, "changes of your address an hour"); err != nil {
		return err
	}
	if err := quota.CountMail(ctx, tx, email, s.MailLimit, now); err != nil {
		return err
	}
	known, err := sharesOrganization(ctx, tx, u.ID, email)
	switch {
	case err != nil:
		return err
	case known:
		return fault.Field(fault.NotUnique, "email", "There is another user with this address.")
	}
	if err := s.Organizations.Admit(ctx, tx, u.ID, email); err != nil {
		return err
	}
	if err := deletePending(ctx, tx, u.ID); err != nil { // only the last change counts: links to earlier ones no longer work
		return err
	}
	wanted := Change{id: rand.Text(), userID: u.ID, OldEmail: u.Email, NewEmail: email, sessionID: c.SessionID, createdAt: now}
	if err := insert(ctx, tx, wanted, c.KeyID); err != nil {
		return err
	}
	for _, use := range []use{toConfirm, toUndo} {
		if err := s.Jobs.Put(ctx, tx, MailJob, string(use)+" "+wanted.id); err != nil {
			return err
		}
	}
	return nil
}

// use is what a link to a change is for.
type use string

const (
	toConfirm use = "confirm"
	toUndo    use = "undo"
)

// token returns the token in the link to a change.
func (s Service) token(u use, id string) (string, error) { return s.Box.Seal([]byte(id), []byte(u)) }

func (s Service) read(token string) (u use, id string, ok bool) {
	for _, u := range []use{toConfirm, toUndo} {
		if id, err := s.Box.Open(token, []byte(u)); err == nil {
			return u, string(id), true
		}
	}
	return "", "", false
}

func (s Service) url(token string) string { return s.BaseURL + "/address/" + token }

// Open returns the change that a link is about.
func (s Service) Open(ctx context.Context, token string) (Change, error) {
	return s.open(ctx, s.DB, token)
}

func (s Service) open(ctx context.Context, q db.Querier, token string) (Change, error) {
	u, id, ok := s.read(token)
	if !ok {
		return Change{}, access.ErrNotFound
	}
	c, err := find(ctx, q, id, s.DB.Now())
	if err != nil {
		return Change{}, access.OrNotFound(err)
	}
	c.Undo, c.Done = u == toUndo, !c.changedAt.IsZero()
	switch {
	case !c.current, c.Done && !c.Undo:
		return Change{}, access.ErrNotFound
	case !s.DB.Now().Before(c.ends()):
		return c, errExpired
	}
	return c, nil
}

var errExpired = fault.New(fault.Expired, "The link has expired: a change of address must be confirmed within a day, and can be undone for 7 days.")

// ends returns when the link to a change stops working.
func (c Change) ends() time.Time {
	ends := c.createdAt.Add(linkTime)
	switch {
	case c.Undo && c.Done:
		return c.changedAt.Add(org.AddressHeld)
	case c.Undo: // the change may still be confirmed
		return ends.Add(org.AddressHeld)
	}
	return ends
}

// Use does what a link is for. If several requests try at once, one succeeds. by is the request.
func (s Service) Use(ctx context.Context, token string, by access.Caller) (Change, error) {
	if _, err := s.Open(ctx, token); err != nil { // so that a wrong link costs no transaction
		return Change{}, err
	}
	var c Change
	err := s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if c, err = s.open(ctx, tx, token); err != nil {
			return err
		}
		by.UserID = c.userID
		u, err := org.UserByID(ctx, tx, c.userID)
		if err != nil {
			return err
		}
		if c.Undo {
			return s.undo(ctx, tx, by, u, c)
		}
		return s.confirm(ctx, tx, by, u, c)
	})
	return c, err
}

// confirm changes the address. Sign-in links that were mailed to the old one no longer work.
func (s Service) confirm(ctx context.Context, tx *db.Tx, by access.Caller, u org.User, c Change) error {
	if err := s.Organizations.Admit(ctx, tx, u.ID, c.NewEmail); err != nil {
		return err
	}
	if _, err := s.Organizations.ChangeAddress(ctx, tx, by, u, c.NewEmail, true); err != nil {
		return err
	}
	if err := s.Keys.RemoveSessions(ctx, tx, by, u.ID, c.sessionID); err != nil {
		return err
	}
	return markChanged(ctx, tx, c.id, s.DB.Now())
}

// undo gives a user back the address that they had before a change and any later ones. Somebody else asked for the
// change, with a key or a session of theirs: all of these end.
func (s Service) undo(ctx context.Context, tx *db.Tx, by access.Caller, u org.User, c Change) (err error) {
	if u.Email != c.OldEmail { // the change is done, and was not changed back
		if u, err = s.Organizations.ChangeAddress(ctx, tx, by, u, c.OldEmail, true); err != nil {
			return err
		}
	}
	if _, err := s.SignIn.UnlinkSince(ctx, tx, by, u, c.createdAt); err != nil {
		return err
	}
	if err := s.Keys.RevokeAll(ctx, tx, by, u.ID); err != nil {
		return err
	}
	return deleteSince(ctx, tx, u.ID, c.createdAt)
}

// EndSessions ends all sessions of the caller's user, and deletes the change that waits for its link: somebody else may
// have asked for it in one of the sessions.
func (s Service) EndSessions(ctx context.Context, c access.Caller) error {
	return s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := access.ConfirmSelf(ctx, tx, c, s.DB.Now()); err != nil {
			return err
		}
		if err := deletePending(ctx, tx, c.UserID); err != nil {
			return err
		}
		return s.Keys.RemoveSessions(ctx, tx, c, c.UserID, 0)
	})
}

// Tidy removes changes whose links no longer work.
func (s Service) Tidy(ctx context.Context) error {
	return queries.DeleteOld(ctx, s.DB, `address_changes`, `id`, `created_at < $1 ORDER BY created_at`, s.DB.Now().Add(-kept))
}

// EraseUser removes a person's changes of address, and those of others to or from their addresses.
func (s Service) EraseUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	if err := deleteSince(ctx, tx, p.UserID, time.Time{}); err != nil {
		return err
	}
	for _, email := range p.Emails {
		if err := deleteTo(ctx, tx, email); err != nil {
			return err
		}
	}
	return nil
}
