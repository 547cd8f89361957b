package org

import (
	"context"
	"strings"
	"unicode"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/plaintext"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

// MayChangeSettings reports whether a caller may change the organization they are in.
func MayChangeSettings(c access.Caller) error {
	if c.Level < access.Owner {
		return fault.New(fault.Denied, "Only owners may change the settings of an organization.")
	}
	return c.Scope.Require(access.All)
}

// SetHere changes settings of the organization that a caller is in.
func (s Service) SetHere(ctx context.Context, c access.Caller, set Settings) (Mine, error) {
	o, err := s.Set(ctx, c, c.Organization.ID, set)
	return Mine{Organization: o, Level: c.Level}, err
}

// The longest names of users, in characters.
const (
	maxFirstName = 30
	maxLastName  = 150
)

// CheckPersonName reads a name of a person: on one line, and nothing that a mail program
// would make a link of. Faults name the field.
func CheckPersonName(field string, f patch.Field[string], limit int) (string, error) {
	f.Value = strings.TrimSpace(f.Value)
	if err := patch.Text(field, f, limit); err != nil {
		return "", err
	}
	if strings.ContainsFunc(f.Value, unnameable) {
		return "", fault.Field(fault.Invalid, field, "Must not contain control characters.")
	}
	if plaintext.HasLink(f.Value) {
		return "", fault.Field(fault.Invalid, field, "Must be a name, not a url: after a dot there must be a space.")
	}
	return f.Value, nil
}

// unnameable reports whether a character breaks a line or reorders what is around it.
func unnameable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// SelfPatch is what users change of themselves.
type SelfPatch struct {
	Email     patch.Field[string] // of the first owner, who has none yet; of everybody else it is left out
	FirstName patch.Field[string]
	LastName  patch.Field[string]
}

// ChangeSelf changes the names, and of the first owner the address, of the user who is a caller. It takes more than a key that is
// bound to one organization: all of the user's show them.
func (s Service) ChangeSelf(ctx context.Context, c access.Caller, p SelfPatch) (User, error) {
	if err := access.MaySeeSelf(c); err != nil {
		return User{}, err
	}
	var faults fault.List
	first, err := CheckPersonName("first_name", p.FirstName, maxFirstName)
	faults.Add(err)
	last, err := CheckPersonName("last_name", p.LastName, maxLastName)
	faults.Add(err)
	if err := faults.Err(); err != nil {
		return User{}, err
	}
	var u User
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if u, err = findUserByID(ctx, tx, c.UserID); err != nil {
			return access.OrNotFound(err)
		}
		if err := precondition.Check(ctx, u); err != nil {
			return err
		}
		if err := s.introduce(ctx, tx, c, &u, p.Email); err != nil {
			return err
		}
		if p.FirstName.Set {
			u.FirstName = first
		}
		if p.LastName.Set {
			u.LastName = last
		}
		if err := access.KeepAnswer(ctx, tx, u); err != nil {
			return err
		}
		return updateNames(ctx, tx, u)
	})
	return u, err
}
