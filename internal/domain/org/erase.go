package org

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/purpose"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// EraseUser removes the names and addresses of a user from all tables, and revokes their keys. Their id stays, since
// other rows refer to it. The last owner of an organization cannot be erased.
func (s Service) EraseUser(ctx context.Context, email string) (User, error) {
	email, err := ParseEmail("email", email)
	if err != nil {
		return User{}, err
	}
	var u User
	err = s.Keys.Change(purpose.With(ctx, purpose.Erasing), func(ctx context.Context, tx *db.Tx) (err error) {
		if u, err = s.FindUser(ctx, tx, email); err != nil {
			return err
		}
		return s.eraseUser(ctx, tx, u)
	})
	if err != nil {
		return User{}, err
	}
	return u, s.DB.Purge()
}

func (s Service) eraseUser(ctx context.Context, tx *db.Tx, u User) error {
	if err := s.Keys.RevokeAll(ctx, tx, access.Caller{}, u.ID); err != nil {
		return err
	}
	memberships, err := membershipsOf(ctx, tx, u.ID)
	if err != nil {
		return err
	}
	for _, m := range memberships {
		if err := s.remove(ctx, tx, access.Caller{}, m); err != nil {
			return lastOwner(err, m)
		}
	}
	emails, err := s.addressesOf(ctx, tx, u)
	if err != nil {
		return err
	}
	p := activity.Person{UserID: u.ID, UUID: u.UUID, Emails: emails}
	for _, erase := range s.UserErasers {
		if err := erase(ctx, tx, p); err != nil {
			return err
		}
	}
	if err := activity.Erase(ctx, tx, p); err != nil {
		return err
	}
	// No mail goes to the domain (RFC 2606), and nobody can have been invited to a random address.
	email := fmt.Sprintf("erased-%d-%s@foyer.invalid", u.ID, strings.ToLower(rand.Text()))
	return blankUser(ctx, tx, u.ID, email, s.DB.Now())
}

// LockUser is the eraser after which nobody stores anything that shows a person. A transaction that reads the person to
// store such a thing, or stores a row that refers to them, locks them until it commits, and the erasers after this one
// find what it stored. Such a transaction may lock invites or ways to sign in before the person, and the answer that is
// kept for its request after them.
func (s Service) LockUser(ctx context.Context, tx *db.Tx, p activity.Person) error {
	return db.Exec(ctx, tx, `SELECT 1 FROM users WHERE id = $1 FOR UPDATE`, p.UserID)
}

// addressesOf lists the addresses that a user has or had, except those that another user has now or may take back.
func (s Service) addressesOf(ctx context.Context, tx *db.Tx, u User) ([]string, error) {
	had, err := activity.Addresses(ctx, tx, u.UUID)
	if err != nil {
		return nil, err
	}
	changed, err := addressesChanged(ctx, tx, u.ID)
	if err != nil {
		return nil, err
	}
	all := []string{u.Email}
	for _, email := range append(had, changed...) {
		switch taken, err := s.IsTaken(ctx, tx, u.ID, email); {
		case err != nil:
			return nil, err
		case !taken:
			all = append(all, email)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// lastOwner says which membership cannot be removed: the only fault of remove is that its user is the last owner.
func lastOwner(err error, m Membership) error {
	if fault.IsOurs(err) {
		return err
	}
	return fault.New(fault.Denied, "The user is the last owner of organization %s: make another member owner first, or delete the organization.", m.OrganizationID)
}

// EraseOrganization removes an organization with all that belongs to it, including events. Its activity stays.
func (s Service) EraseOrganization(ctx context.Context, id string) (Organization, error) {
	var o Organization
	err := s.Keys.Change(purpose.With(ctx, purpose.Erasing), func(ctx context.Context, tx *db.Tx) (err error) {
		if o, err = Find(ctx, tx, id); err != nil {
			return notFound(err, "There is no organization %s.", id)
		}
		if err := s.Keys.RevokeAllBound(ctx, tx, o.ID); err != nil {
			return err
		}
		for _, erase := range s.OrganizationErasers {
			if err := erase(ctx, tx, o.ID); err != nil {
				return err
			}
		}
		if err := s.record(ctx, tx, access.Caller{}, o, activity.Deleted, nil); err != nil {
			return err
		}
		if err := activity.EraseEvents(ctx, tx, o.ID); err != nil {
			return err
		}
		return deleteOrganization(ctx, tx, o.ID)
	})
	if err != nil {
		return Organization{}, err
	}
	return o, s.purge(ctx)
}

// purge removes what an erased organization has left.
func (s Service) purge(ctx context.Context) error {
	var left error
	if s.Tidy != nil {
		if err := s.Tidy(ctx); err != nil {
			left = fmt.Errorf("it is deleted, but not all texts of its apps: %w; the hourly cleanup deletes the rest", err)
		}
	}
	return errors.Join(left, s.DB.Purge())
}

// EraseMembers removes the memberships of an organization. It locks them in the order in which access.Keys.FlushUse changes them.
func (s Service) EraseMembers(ctx context.Context, tx *db.Tx, organizationID string) error {
	if err := db.Exec(ctx, tx, `SELECT 1 FROM memberships WHERE organization_id = $1 ORDER BY user_id FOR UPDATE`, organizationID); err != nil {
		return err
	}
	return db.Exec(ctx, tx, `DELETE FROM memberships WHERE organization_id = $1`, organizationID)
}
