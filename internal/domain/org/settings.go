package org

import (
	"context"
	"strings"
	"unicode"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
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

// why returns the change that tells the activity why an app access level is lowered; nil if it is not lowered, or no
// reason is given.
func (set Settings) why(before access.AppAccess) ([]activity.Change, error) {
	if set.Reason == "" {
		return nil, nil
	}
	if set.AppAccess == nil || *set.AppAccess > before {
		return nil, fault.Field(fault.Invalid, "reason", "A reason is given with an access level below the one there is, %d: leave it out of any other change.", before)
	}
	reason, err := activity.CheckReason(patch.Of(set.Reason))
	if err != nil || *set.AppAccess == before {
		return nil, err
	}
	return []activity.Change{activity.Reason("reason", "", reason)}, nil
}

// The longest names of users, in characters.
const (
	maxFirstName = 30
	maxLastName  = 150
)

// CheckFirstName reads the first name of a user. Faults name first_name.
func CheckFirstName(f patch.Field[string]) (string, error) {
	return checkPersonName("first_name", f, maxFirstName)
}

// CheckLastName reads the last name of a user. Faults name last_name.
func CheckLastName(f patch.Field[string]) (string, error) {
	return checkPersonName("last_name", f, maxLastName)
}

// checkPersonName reads a name of a person: on one line, and without anything that a mail program would turn into a
// link.
func checkPersonName(field string, f patch.Field[string], limit int) (string, error) {
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
