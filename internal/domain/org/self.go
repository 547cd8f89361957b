package org

import (
	"context"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/base/search"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// SelfPatch is what users may change about themselves, and operators about users.
type SelfPatch struct {
	Email     patch.Field[string]
	FirstName patch.Field[string]
	LastName  patch.Field[string]
}

// checked returns the patch with its values as they are stored.
func (p SelfPatch) checked() (SelfPatch, error) {
	var faults fault.List
	err := p.Email.Check("email")
	if err == nil && p.Email.Set {
		p.Email.Value, err = ParseEmail("email", p.Email.Value)
	}
	faults.Add(err)
	p.FirstName.Value, err = CheckFirstName(p.FirstName)
	faults.Add(err)
	p.LastName.Value, err = CheckLastName(p.LastName)
	faults.Add(err)
	return p, faults.Err()
}

// AddressHeld is how long a user with a new address may take the old one back: nobody else gets it meanwhile.
const AddressHeld = 7 * 24 * time.Hour

// ChangeSelf changes the names of the caller's user, and has a new address confirmed; the first owner, who has no
// address yet, gets one at once. It refuses a key that is bound to one organization, since all of the user's
// organizations show the change.
func (s Service) ChangeSelf(
	ctx context.Context, c access.Caller, p SelfPatch, confirm func(ctx context.Context, tx *db.Tx, u User, email string) error,
) (User, error) {
	if err := access.MaySeeSelf(c); err != nil {
		return User{}, err
	}
	p, err := p.checked()
	if err != nil {
		return User{}, err
	}
	var u User
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := access.ConfirmSelf(ctx, tx, c, s.DB.Now()); err != nil {
			return err
		}
		if u, err = UserByID(ctx, tx, c.UserID); err != nil {
			return access.OrNotFound(err)
		}
		if err := precondition.Check(ctx, u); err != nil {
			return err
		}
		switch {
		case !p.Email.Set, p.Email.Value == u.Email:
		case u.Email == NobodysEmail: // it stays unverified, like an address that is given to the first start
			u, err = s.ChangeAddress(ctx, tx, c, u, p.Email.Value, false)
		default:
			err = confirm(ctx, tx, u, p.Email.Value)
		}
		if err != nil {
			return err
		}
		if err := s.rename(ctx, tx, c, &u, p); err != nil {
			return err
		}
		return access.KeepAnswer(ctx, tx, u)
	})
	return u, err
}

// Admit refuses an address that one of the user's organizations does not admit.
func (s Service) Admit(ctx context.Context, q db.Querier, userID int64, email string) error {
	all, err := organizationsOf(ctx, q, userID)
	if err != nil {
		return err
	}
	for _, o := range all {
		if !o.Admits(email) {
			return fault.Field(fault.Invalid, "email", "Must be at a domain that %s takes: %s.", o.Name, fault.Enumerate(o.AllowedDomains))
		}
	}
	return nil
}

// IsTaken reports whether another user has an address, or may take it back.
func (s Service) IsTaken(ctx context.Context, q db.Querier, userID int64, email string) (bool, error) {
	return addressTaken(ctx, q, userID, email, s.DB.Now())
}

func (s Service) rename(ctx context.Context, tx *db.Tx, by access.Caller, u *User, p SelfPatch) error {
	before := *u
	p.FirstName.Apply(&u.FirstName)
	p.LastName.Apply(&u.LastName)
	var changes []activity.Change
	if u.FirstName != before.FirstName {
		changes = append(changes, activity.Changed("first_name", before.FirstName, u.FirstName))
	}
	if u.LastName != before.LastName {
		changes = append(changes, activity.Changed("last_name", before.LastName, u.LastName))
	}
	if changes == nil {
		return nil
	}
	if err := updateNames(ctx, tx, *u); err != nil {
		return err
	}
	return s.recordUser(ctx, tx, by, *u, changes)
}

// SetUser changes the names and the address of a user, for an operator. A new address ends the user's sessions.
func (s Service) SetUser(ctx context.Context, email string, p SelfPatch) (User, error) {
	email, err := ParseEmail("email", email)
	if err != nil {
		return User{}, err
	}
	p, err = p.checked()
	if err != nil {
		return User{}, err
	}
	var u User
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if u, err = s.FindUser(ctx, tx, email); err != nil {
			return err
		}
		if p.Email.Set && p.Email.Value != u.Email {
			if u, err = s.ChangeAddress(ctx, tx, access.Caller{}, u, p.Email.Value, false); err != nil {
				return err
			}
			if err := s.Keys.RemoveSessions(ctx, tx, access.Caller{}, u.ID, 0); err != nil {
				return err
			}
		}
		return s.rename(ctx, tx, access.Caller{}, &u, p)
	})
	return u, err
}

// ChangeAddress gives a user another address inside Keys.Change, and records that in each of their
// organizations.
func (s Service) ChangeAddress(ctx context.Context, tx *db.Tx, by access.Caller, u User, email string, verified bool) (User, error) {
	changes := []activity.Change{activity.Changed("email", u.Email, email)}
	u.Email, u.IsEmailVerified = email, verified
	switch taken, err := s.IsTaken(ctx, tx, u.ID, email); {
	case err != nil:
		return User{}, err
	case taken:
		return User{}, fault.Field(fault.NotUnique, "email", "There is another user with this address, or there was one until a few days ago, who may take it back within a week.")
	}
	if err := s.withdraw(ctx, tx, by, u); err != nil {
		return User{}, err
	}
	if err := updateEmail(ctx, tx, u); err != nil {
		return User{}, err
	}
	return u, s.recordUser(ctx, tx, by, u, changes)
}

// VerifyEmail marks a user's address as verified, inside Keys.Change. The first time, if the user was made by a link
// that anybody may have had, it revokes all their keys and ends all their sessions.
func (s Service) VerifyEmail(ctx context.Context, tx *db.Tx, by access.Caller, userID int64) error {
	u, err := findVerification(ctx, tx, userID)
	if err != nil || u.verified {
		return err
	}
	if u.byHandedLink {
		if err := s.Keys.RevokeAll(ctx, tx, by, userID); err != nil {
			return err
		}
	}
	return markVerified(ctx, tx, userID)
}

// VerifyOwnEmail is VerifyEmail for a user who is signed in and stays so: it does nothing for a user who was made by a
// link that anybody may have had.
func (s Service) VerifyOwnEmail(ctx context.Context, tx *db.Tx, userID int64) error {
	u, err := findVerification(ctx, tx, userID)
	if err != nil || u.byHandedLink || u.verified {
		return err
	}
	return markVerified(ctx, tx, userID)
}

// withdraw deletes the invites to a user's address in their organizations: nobody could accept them.
func (s Service) withdraw(ctx context.Context, tx *db.Tx, by access.Caller, u User) error {
	if s.Withdraw == nil {
		return nil
	}
	all, err := organizationsOf(ctx, tx, u.ID)
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := s.Withdraw(ctx, tx, by, o.ID, u.Email); err != nil {
			return err
		}
	}
	return nil
}

// recordUser records changes of a user in each of their organizations.
func (s Service) recordUser(ctx context.Context, tx *db.Tx, by access.Caller, u User, changes []activity.Change) error {
	return s.recordEach(ctx, tx, u, func(m Membership) activity.Entry { return s.entry(m, by, activity.Updated, changes) })
}

// RecordSignIn records a change of how a user signs in, in each of their organizations. There is no event for it.
func (s Service) RecordSignIn(ctx context.Context, tx *db.Tx, by access.Caller, u User, verb activity.Verb, changes ...activity.Change) error {
	return s.recordEach(ctx, tx, u, func(m Membership) activity.Entry {
		return by.Did(activity.Entry{OrganizationID: m.OrganizationID, Scope: activity.Session, ItemID: u.UUID, Verb: verb, Name: u.Email, Changes: changes})
	})
}

// recordEach records an entry for each membership of a user.
func (s Service) recordEach(ctx context.Context, tx *db.Tx, u User, entry func(Membership) activity.Entry) error {
	memberships, err := membershipsOf(ctx, tx, u.ID)
	if err != nil {
		return err
	}
	for _, m := range memberships {
		if err := activity.Record(ctx, tx, entry(m), s.DB.Now()); err != nil {
			return err
		}
	}
	return nil
}

// search returns the text that a member is searched by.
func (u User) search() string { return search.Searched(u.Email, u.FirstName+" "+u.LastName) }
